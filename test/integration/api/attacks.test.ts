import { createHash, randomBytes, scryptSync } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiHandler } from '../../../src/api/handler.ts';
import { type RunningApi, serveApi } from '../../../src/api/serve.ts';
import { anyOf } from '../../../src/api/sign-in/any-of.ts';
import { basicUsers } from '../../../src/api/sign-in/basic-users.ts';
import { bearerTokens } from '../../../src/config/bearer-tokens.ts';
import { turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { type ApiBench, openApi } from './api-bench.ts';
import { type Attack, attacksOn, smuggled } from './attacks.ts';
import { fill } from './samples.ts';

turnNoLeaves();

const password = 'correct horse battery';
const roles = {
  viewer: {},
  operator: {},
  admin: { payloads: true },
  limited: { payloads: true, topics: ['refunds'] },
};
const tokens = Object.fromEntries(
  Object.keys(roles).map((name) => [name, randomBytes(32).toString('base64url')]),
);
const hashOf = (token = ''): string => createHash('sha256').update(token).digest('hex');
const lines: unknown[] = [];

/** Of the lowest cost that is accepted. */
function cheapHash(): string {
  const [cost, salt] = [2 ** 14, randomBytes(16)];
  const key = scryptSync(password, salt, 32, { N: cost, r: 8, p: 1, maxmem: 256 * cost * 8 });
  return `scrypt$${cost}$8$1$${salt.toString('base64url')}$${key.toString('base64url')}`;
}

let bench: ApiBench;
let running: RunningApi;
beforeAll(async () => {
  bench = await openApi();
  const database = { url: bench.lane.url };
  const authentication = anyOf(
    bearerTokens(
      Object.entries(roles).map(([name, rights]) => ({
        name,
        hash: hashOf(tokens[name]),
        role: name === 'viewer' || name === 'operator' ? name : 'admin',
        ...rights,
      })),
    ),
    basicUsers({ users: [{ name: 'ben', hash: cheapHash(), role: 'operator' }], database }),
  );
  const note = (facts: object): void => void lines.push(facts);
  const logger = { debug: note, info: note, warn: note, error: note };
  running = await serveApi(apiHandler({ database }, { authentication, logger }), {
    host: '127.0.0.1',
    port: 0,
  });
});
afterAll(async () => {
  await running.stop();
  await bench.drop();
});

/** As it stands on the wire: a client that corrects what it sends would hide the attack. */
async function answerTo({ as, body, headers, method, path }: Attack): Promise<[number, string]> {
  const proof =
    as === 'ben' ? `Basic ${Buffer.from(`ben:${password}`).toString('base64')}` : `Bearer ${tokens[as]}`;
  const asking = request({
    host: '127.0.0.1',
    port: running.port,
    path,
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(as !== 'nobody' && { authorization: proof }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  asking.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  return [response.statusCode ?? 0, await textOf(response)];
}

async function saidTo(text: string): Promise<string> {
  const socket = connect(running.port, '127.0.0.1', () => socket.write(text));
  let said = '';
  socket.on('data', (data: Buffer) => {
    said += data.toString();
    socket.end();
  });
  // A server that closes while bytes are under way resets the connection.
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return said;
}

/** Every version of every message, with the transaction that last wrote or locked it. */
const versions = () =>
  bench.lane.database.query(
    `select 'm' as of, ctid::text, xmin::text, xmax::text from outbox.message
     union all select 'k', ctid::text, xmin::text, xmax::text from outbox.parked
     union all select 't', ctid::text, xmin::text, xmax::text from outbox.topic order by 1, 2`,
  );

test('every attack is refused by its status, changes and locks nothing, and is told no secret', {
  tags: ['api-shows-nothing-without-right'],
}, async () => {
  const world = await fill(bench);
  await bench.lane.database.query(
    `update outbox.message set payload = '{"pin":"canary-payload"}' where id = $1`,
    [world.waiting],
  );
  const attacks = attacksOn(world, {
    token: tokens['admin'] ?? '',
    hash: hashOf(tokens['admin']),
  });
  const before = await versions();
  const answers: string[] = [];
  const texts: string[] = [];
  for (const attack of attacks) {
    const [status, text] = await answerTo(attack);
    answers.push(
      `${attack.as}: ${attack.what} ${attack.method ?? ''} ${attack.path.slice(0, 100)}: ${status}`,
    );
    texts.push(text);
  }
  expect(answers).toEqual(
    attacks.map(
      ({ as, method, path, status, what }) =>
        `${as}: ${what} ${method ?? ''} ${path.slice(0, 100)}: ${status}`,
    ),
  );
  expect(await versions()).toEqual(before);
  expect(lines, 'nothing failed').toEqual([]);
  const noted = await bench.lane.database.query(
    `select a::text as text from outbox.audit a union all select r::text from outbox.request r`,
  );
  const told = [...texts, JSON.stringify(noted)].join('\n');
  for (const secret of [
    'canary-payload',
    password,
    ...Object.values(tokens),
    ...Object.values(tokens).map(hashOf),
  ])
    expect(told).not.toContain(secret);
});

test.each(smuggled)('%s is no request', async (_what, text) => {
  expect(await saidTo(text)).toMatch(/^(?:HTTP\/1\.1 4\d\d |$)/);
});

test('after all that it answers', async () => {
  const [status] = await answerTo({ as: 'viewer', path: '/me', status: 200, what: 'a good request' });
  expect(status).toBe(200);
});
