/** Writes the table of import rules into ARCHITECTURE.md, from the table that the linter reads. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { layers } from './lint/layers.mjs';

const packageNames = {
  pg: '`pg`',
  prisma: 'Prisma',
  kafkajs: '`kafkajs`',
  platformatic: '`@platformatic/kafka`',
  redis: '`@redis/client`',
  amqplib: '`amqplib`',
  rocketmq: '`rocketmq-client-nodejs`',
  undici: '`undici`',
  webhooks: '`standardwebhooks`',
  opentelemetry: '`@opentelemetry/*`',
  hono: 'Hono, `openid-client`',
  zod: '`zod`',
  nodemailer: '`nodemailer`',
  temporal: '`@temporalio/*`',
  process: 'the environment',
  // Files and sockets, which nearly every layer uses.
  io: '',
};
const start = '<!-- imports: made of tools/lint/layers.mjs by `npm run generated` -->\n';
const end = '<!-- /imports -->';

const code = (names) => names.map((name) => `\`${name.replace(/\/$/, '').replace('../', '')}\``).join(', ');
const uses = (names) => names.map(nameOf).filter(Boolean).join(', ');

function nameOf(name) {
  if (Object.hasOwn(packageNames, name)) return packageNames[name];
  throw new Error(`tools/import-table.mjs has no name for the package "${name}".`);
}

/** Each layer, what it may import from the project, and which packages with one home it may use. */
export function importTable() {
  const rows = layers.map(({ folder, imports, types = [], uses: packages, homes = {} }) => {
    const own = Object.entries(homes).map(
      ([name, home]) =>
        `${[code(home.imports ?? []), uses(home.uses)].filter(Boolean).join(', ')} in \`${name}\``,
    );
    const typesOnly = types.length > 0 ? `types of ${code(types)}` : '';
    const inner = [code(imports), typesOnly].filter(Boolean).join('; ') || 'nothing';
    return `| \`${folder}\` | ${inner} | ${[uses(packages), ...own].filter(Boolean).join('; ')} |`;
  });
  return ['| folder | may import | and use |', '| --- | --- | --- |', ...rows, ''].join('\n');
}

/** The page with its table updated. */
export function withImportTable(page) {
  const from = page.indexOf(start) + start.length;
  return `${page.slice(0, from)}\n${importTable()}\n${page.slice(page.indexOf(end))}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  writeFileSync('ARCHITECTURE.md', withImportTable(readFileSync('ARCHITECTURE.md', 'utf8')));
