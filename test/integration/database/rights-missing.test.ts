import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { apiHandler } from '../../../src/api/handler.ts';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { operations as operationsOf } from '../../../src/app/operations/operations.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { once } from '../../../src/inbox/once.ts';
import {
  cancel,
  clientOf,
  fromQuery,
  reschedule,
  schedule,
  send,
  sendBatch,
  type Transaction,
  topic,
  transaction,
  unschedule,
} from '../../../src/index.ts';
import { applyMigrations } from '../../../src/operations/schema.ts';
import { memoryBroker } from '../../../src/testing/memory-broker.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { examined } from '../../support/fixtures/doctor.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';

const placed = topic('order-placed', z.object({ n: z.number() }));
const role = `stranger_${randomBytes(4).toString('hex')}`;
const refused = {
  code: 'OUTBOX_PRIVILEGE_MISSING',
  message: expect.stringMatching(/permission denied for \w+ \w+/),
  next: expect.stringContaining('docs/production.md'),
  details: { sqlState: '42501' },
};

const calls: readonly (readonly [string, (tx: Transaction) => Promise<unknown>])[] = [
  ['send', (tx) => send(tx, placed, { n: 1 })],
  ['send with a ref', (tx) => send(tx, placed, { n: 1 }, { ref: 'r', after: '1 h' })],
  ['sendBatch', (tx) => sendBatch(tx, placed, [{ payload: { n: 1 } }, { payload: { n: 2 } }])],
  ['cancel', (tx) => cancel(tx, placed, 'r')],
  ['reschedule', (tx) => reschedule(tx, placed, 'r', { after: 0 })],
  ['schedule', (tx) => schedule(tx, 'hourly', placed, { n: 1 }, { every: '1h' })],
  ['unschedule', (tx) => unschedule(tx, 'hourly')],
  ['once', (tx) => once(tx, 'group', 'message-1', () => Promise.resolve())],
];

let made: TestDatabase;
/** Of a role that may do nothing with the tables of the outbox. */
let url: string;

beforeAll(async () => {
  made = await createTestDatabase();
  await made.database.query(`create role ${role} login password 'p'`);
  const asRole = new URL(made.url);
  asRole.username = role;
  asRole.password = 'p';
  url = asRole.href;
});
afterAll(async () => {
  await made.database.query(`drop owned by ${role}`);
  await made.database.query(`drop role ${role}`);
  await made.drop();
});

const config = () => ({
  database: { url },
  temporal: { address: inject('temporalAddress') },
  topics: [placed],
  transports: { kafka: memoryBroker() },
});

test.each(['no right', 'usage alone'])(
  'with %s each call in a transaction names what is missing',
  { tags: ['missing-right-reported'] },
  async (has) => {
    if (has === 'usage alone') await made.database.query(`grant usage on schema outbox to ${role}`);
    const prisma = openPrisma(url);
    const pool = new pg.Pool({ connectionString: url });
    const ways: Readonly<Record<string, (work: (tx: Transaction) => Promise<unknown>) => Promise<unknown>>> =
      {
        prisma: (work) => transaction(prisma, work),
        pool: (work) => transaction(clientOf(pool), work),
        fromQuery: (work) =>
          clientOf(pool).$transaction((tx) =>
            work(fromQuery((text, values) => tx.$queryRawUnsafe<readonly unknown[]>(text, ...values))),
          ),
      };
    try {
      for (const [way, run] of Object.entries(ways))
        for (const [name, call] of calls) {
          const error: unknown = await run(call).catch((thrown: unknown) => thrown);
          expect({ way, name, error }).toMatchObject({ way, name, error: refused });
        }
      for (const client of [prisma, clientOf(pool)]) {
        const consuming = consumer<Transaction>(client, { config: config(), group: 'shop' });
        consuming.on(placed, () => Promise.resolve());
        await expect(consuming.start()).rejects.toMatchObject(refused);
      }
    } finally {
      await Promise.all([prisma.$disconnect(), pool.end()]);
    }
  },
);

test('operations, migrate, the doctor, the HTTP API and a relay name the missing right', {
  tags: ['missing-right-reported'],
}, async () => {
  const operations = operationsOf({ topics: [placed], database: { url } });
  await expect(operations.status()).rejects.toMatchObject(refused);
  await expect(operations.list({})).rejects.toMatchObject(refused);
  await operations.close();
  await expect(applyMigrations({ url })).rejects.toMatchObject(refused);

  const relay = startRelay(config(), { logger: false });
  await expect(relay.ready).rejects.toMatchObject(refused);

  const api = apiHandler(
    { database: { url }, topics: [placed] },
    {
      authentication: {
        caller: async () => ({ name: 'vera', role: 'viewer', payloads: false, ambient: false }),
      },
      logger: false,
    },
  );
  const answer = await api(new Request('http://localhost/messages'));
  expect([answer.status, await answer.json()]).toEqual([
    503,
    expect.objectContaining({ code: 'OUTBOX_PRIVILEGE_MISSING' }),
  ]);
  await api.close();

  const { message, next } = refused;
  expect([...(await examined({ database: { url } })).values()]).toContainEqual(
    expect.objectContaining({ state: 'problem', message, next }),
  );
});

test('the missing right of an own table is unchanged', { tags: ['missing-right-reported'] }, async () => {
  await made.database.query('create table own_orders ()');
  const pool = new pg.Pool({ connectionString: url });
  await expect(
    transaction(clientOf(pool), (tx) => tx.query('select * from own_orders')),
  ).rejects.toMatchObject({ code: '42501' });
  await pool.end();
});
