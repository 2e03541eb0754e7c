/** Generates docs/http-api.md from the tables of src/api. */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const intro = `# HTTP API

Generated from \`src/api/table\` by \`npm run generated\`; do not edit. What an operator may do, over HTTP: \`temporal-outbox api\` serves it,
and a server of yours can [mount](#mounting) it. It needs \`npm install hono@4 @hono/node-server@2\`. \`GET /openapi.json\` is its
OpenAPI 3.1 document.

\`\`\`sh
temporal-outbox api --without-sign-in &   # on your own machine: whoever reaches the loopback address is an admin
curl localhost:7676/messages?states=failed
curl -X POST -H 'Origin: http://localhost:7676' -H 'Content-Type: application/json' -d '{"reason":"fixed"}' \\
  localhost:7676/messages/<id>/retry
\`\`\`

- **Nobody is anonymous.** Without the setting \`api: { authentication }\` nothing is served, except by \`--without-sign-in\` on a loopback
  address, which \`temporal-outbox dev\` uses. Behind a proxy, listen where only the proxy reaches it, and let that speak TLS.
- **Tokens.** \`temporal-outbox api-token\` makes one and its hash; \`authentication: bearerTokens([{ name: 'shop', hash: env('SHOP_HASH'),
  role: 'viewer' }])\` of \`temporal-outbox\` accepts it.
- **People.** \`openIdConnect()\` signs them in at your provider: open \`/sign-in\`; \`POST /sign-out\` ends it. It needs \`npm install
  openid-client@6\`. Small places may use \`basicUsers()\` with hashes of \`temporal-outbox api-password\`. \`anyOf()\` joins several ways, and
  another way is an object with \`caller(request)\`. [sign-in.md](sign-in.md)
- **Rights.** A viewer reads, an operator changes messages, an admin changes topics and the installation, and expunges. Reading payloads and headers is a
  right of its own. A caller that is limited to topics finds nothing of others; with several topics, lists and bulk operations have to
  name one.
- **Errors of messages** may quote payloads: without the right to payloads a caller is told their class, code or HTTP status, and may not filter by their text.
- **Audit.** Changes, revealed payloads and denied requests are in \`outbox.audit\` with the caller's name.
- **Repeats.** With an \`Idempotency-Key\`, a repeat of a change gets the first answer, for a day; if that says that it is not done, the change goes on. \`If-Match\` with the \`ETag\` of a
  message makes its edit fail if another was faster.
- **Errors** are \`application/problem+json\` with a \`code\` of [errors.md](errors.md), \`next\` and \`requestId\`. Failures of the server
  are logged with that id, and tell no cause.
- **Streams.** The caller of an open one is proved again every 15 seconds: without a proof, or with other rights, it ends. While that
  cannot be known, it goes on.
- **Bounds.** Bodies of 64 KiB (edits 2 MiB), pages of 200, statements of five seconds, changes of fifteen, five streams per caller. A change by a
  cookie or by Basic must come from the same origin, and every change needs \`Content-Type: application/json\`. There is no CORS.

## Mounting

\`\`\`ts
import { apiHandler, apiListener } from 'temporal-outbox/api';

const api = apiHandler(config, { authentication, basePath: '/ops/outbox' });

app.all('/ops/outbox/*', (context) => api(context.req.raw)); // Hono
app.use('/ops/outbox', apiListener(api)); // Express and NestJS, before what reads bodies or compresses answers

const listener = apiListener(api); // Fastify
app.register(async (scope) => {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _body, done) => done(null));
  scope.all('/ops/outbox/*', (request, reply) => {
    reply.hijack();
    listener(request.raw, reply.raw);
  });
});
\`\`\`

\`basePath\` is the whole prefix. Call \`api.close()\` when your server stops, because streams keep it from ending.

## Requests
`;

/** The page: every operation and stream. */
export function httpApiPage(operations, streams) {
  const rights = ({ payloads, role }) => `${role}${payloads === true ? ', payloads' : ''}`;
  const row = (method, one) =>
    `| \`${method} ${one.path}\` | ${one.summary.replaceAll('|', String.raw`\|`)} | ${rights(one)} |`;
  return `${intro}
| request | what it does | needs |
| --- | --- | --- |
${[...operations.map((one) => row(one.method, one)), ...streams.map((one) => row('GET', one))].join('\n')}
`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { operationTable } = await import('../dist/src/api/table/table.js');
  const { streamTable } = await import('../dist/src/api/live/streams.js');
  writeFileSync(new URL('../docs/http-api.md', import.meta.url), httpApiPage(operationTable, streamTable));
}
