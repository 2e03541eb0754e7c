import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { type ReceivedRequest, type ReceiveOptions, receiveNode } from '../../../src/http.ts';
import { eventId } from '../../../src/inbox/reading/message-id.ts';
import { http } from '../../../src/transports.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { until } from '../../support/fixtures/until.ts';
import { signed, webhookSecret } from '../../support/fixtures/webhook.ts';

type Tx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0];

let made: TestDatabase;
let prisma: PrismaClient;

beforeAll(async () => {
  made = await createTestDatabase();
  await made.database.query('create table effect (id text, payload text)');
  prisma = openPrisma(made.url);
});
afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

const secret = webhookSecret('k');

const optionsOf = (given: Partial<ReceiveOptions<Tx>> = {}): ReceiveOptions<Tx> => ({
  client: prisma,
  group: 'shop',
  secret,
  report: () => undefined,
  ...given,
});

async function effect(tx: Tx, { id, payload }: ReceivedRequest): Promise<void> {
  await tx.$executeRaw`insert into effect values (${id}, ${JSON.stringify(payload)})`;
}

async function effects(id: string): Promise<number> {
  return (await made.database.query('select 1 from effect where id = $1', [id])).length;
}

async function served(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await until(() => server.listening);
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

const nodeServer = (
  given: Partial<ReceiveOptions<Tx>> = {},
  failed: (error: unknown) => void = () => undefined,
) =>
  served((request, response) => {
    receiveNode(request, response, optionsOf(given), effect).catch((error: unknown) => {
      failed(error);
      response.destroy();
    });
  });

test('a Node server receives what the transport sends once: key, headers and payload', async () => {
  const seen: ReceivedRequest[] = [];
  const address = await served(
    (request, response) =>
      void receiveNode(request, response, optionsOf(), async (tx, message) => {
        seen.push(message);
        await effect(tx, message);
      }),
  );
  const transport = http({ secret, allow: ['127.0.0.1'] });
  onTestFinished(() => transport.close());
  const headers = { ce_type: 'orders', 'content-type': 'application/json', 'x-note': 'žluť\n100 %' };
  const message = { ...outgoing('kůň'), headers, payload: '{"a":"🐎"}' };

  for (let n = 0; n < 2; n += 1)
    expect((await publishTo(transport, address, [message])).outcomes).toMatchObject([
      { kind: 'acknowledged' },
    ]);

  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({
    id: message.id,
    key: 'kůň',
    topic: 'orders',
    payload: { a: '🐎' },
    headers,
  });
  expect(await effects(message.id)).toBe(1);
});

test('a Node server refuses a request that is too long or too slow, and names the reason', async () => {
  const address = await nodeServer({ maxBytes: 1_000, bodyTimeout: 2_000 });
  const long = await fetch(address, { method: 'POST', body: 'x'.repeat(100_000) });
  expect(long.status).toBe(413);
  expect(await long.text()).toBe('The body is longer than 1000 bytes.');

  const slow = httpRequest(address, { method: 'POST', headers: { 'content-length': '5' } });
  slow.on('error', () => undefined);
  slow.write('x');
  const status = await new Promise((resolve) => slow.on('response', ({ statusCode }) => resolve(statusCode)));
  expect(status).toBe(408);
  slow.destroy();
});

test('a client that disconnects in the middle of its body breaks nothing', async () => {
  const failures: unknown[] = [];
  const address = await nodeServer({}, (error) => failures.push(error));
  const gone = httpRequest(address, { method: 'POST', headers: { 'content-length': '500' } });
  gone.on('error', () => undefined);
  await new Promise((sent) => gone.write('x', sent));
  gone.destroy();
  const { id, request } = signed('{}');
  const again = request();
  const answer = await fetch(address, { method: 'POST', headers: again.headers, body: await again.text() });
  expect(answer.status).toBe(204);
  expect(await effects(id)).toBe(1);
  expect(failures).toEqual([]);
});

test.each([
  [
    'whose body was read before',
    {},
    async (request: AsyncIterable<unknown>) => {
      for await (const _ of request);
    },
    'OUTBOX_OPTION_INVALID',
  ],
  [
    'whose secret cannot be read',
    {
      secret: () => {
        throw Object.assign(new Error('the vault is sealed'), { code: 'SEALED' });
      },
    },
    async () => undefined,
    'SEALED',
  ],
])(
  'a request %s is answered with 500, and then the call rejects, with what was reported',
  async (_, given, before, code) => {
    const failures: unknown[] = [];
    const reported: unknown[] = [];
    const report = (...told: readonly unknown[]): void => void reported.push(told);
    const address = await served((request, response) => {
      before(request)
        .then(() => receiveNode(request, response, optionsOf({ ...given, report }), effect))
        .catch((error: unknown) => {
          failures.push(error);
          // As frameworks do with an answer that has begun.
          request.socket.destroy();
        });
    });

    const response = await fetch(address, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', 'webhook-id': 'm-1' },
      signal: AbortSignal.timeout(20_000),
    });

    expect([response.status, await response.text()]).toEqual([500, 'The request cannot be received.']);
    await until(() => failures.length === 1);
    expect(failures).toMatchObject([{ code }]);
    expect(reported).toEqual([[failures[0], 'm-1']]);
  },
);

test('messages of two installations whose senders chose the same id are both applied, each once, and as by consumers', {
  tags: ['effect-once'],
}, async () => {
  const transport = http({ secret, allow: ['127.0.0.1'] });
  onTestFinished(() => transport.close());
  const address = await nodeServer();
  const { id } = outgoing(null);
  const of = (installation: string) => ({
    ...outgoing(null),
    id,
    payload: '{}',
    headers: { ce_id: id, ce_source: `/outbox/${installation}`, 'outbox-id': 'chosen' },
  });
  const installations = ['0190a5c8-7d6e-7bbb-8a4f-2f6b6a1c0d11', '6f1f7a5e-7a4e-4c55-9d0c-2f6b3c1d8e90'];
  for (const installation of [...installations, ...installations])
    await publishTo(transport, address, [of(installation)]);

  const known = installations.map((installation) => eventId(id, `/outbox/${installation}`, true));
  const counts: number[] = [];
  for (const one of known) counts.push(await effects(one));
  expect(counts).toEqual([1, 1]);
});
