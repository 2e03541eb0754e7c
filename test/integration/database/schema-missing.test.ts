import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { operations as operationsOf } from '../../../src/app/operations/operations.ts';
import { once } from '../../../src/inbox/once.ts';
import {
  cancel,
  clientOf,
  fromQuery,
  reschedule,
  send,
  sendBatch,
  type Transaction,
  topic,
  transaction,
} from '../../../src/index.ts';
import { memoryBroker } from '../../../src/testing/memory-broker.ts';
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';

const orderPlaced = topic('order-placed', z.object({ orderId: z.string() }));

const config = {
  topics: [orderPlaced],
  transports: { kafka: memoryBroker() },
};

const calls: readonly (readonly [string, (tx: Transaction) => Promise<unknown>])[] = [
  ['send', (tx) => send(tx, orderPlaced, { orderId: '7' })],
  ['send with a ref', (tx) => send(tx, orderPlaced, { orderId: '7' }, { ref: 'r', after: '1 h' })],
  [
    'sendBatch',
    (tx) => sendBatch(tx, orderPlaced, [{ payload: { orderId: '7' } }, { payload: { orderId: '8' } }]),
  ],
  ['cancel', (tx) => cancel(tx, orderPlaced, 'r')],
  ['reschedule', (tx) => reschedule(tx, orderPlaced, 'r', { after: 0 })],
  ['once', (tx) => once(tx, 'group', 'message-1', () => Promise.resolve())],
];

/** What is wrong with the database. */
const damages = [
  { what: 'no schema', damage: undefined, state: '3F000' },
  {
    what: 'no function and no table',
    damage: 'drop schema outbox cascade; create schema outbox',
    state: /42P01|42883/,
  },
];

describe.each(damages)('with $what', ({ damage, state }) => {
  let made: TestDatabase;
  let prisma: PrismaClient;
  let pool: pg.Pool;

  beforeAll(async () => {
    made = damage === undefined ? await createEmptyDatabase() : await createTestDatabase();
    if (damage !== undefined) await made.database.query(damage);
    prisma = openPrisma(made.url);
    pool = new pg.Pool({ connectionString: made.url });
  });
  afterAll(async () => {
    await Promise.all([prisma.$disconnect(), pool.end()]);
    await made.drop();
  });

  const ways = {
    prisma: (work: (tx: Transaction) => Promise<unknown>) => transaction(prisma, work),
    pool: (work: (tx: Transaction) => Promise<unknown>) => transaction(clientOf(pool), work),
    fromQuery: (work: (tx: Transaction) => Promise<unknown>) =>
      made.database.transaction((sql) => work(fromQuery((text, values) => sql.query(text, values)))),
  };

  test.each(Object.keys(ways) as (keyof typeof ways)[])(
    'every call over %s names the migration',
    { tags: ['missing-outbox-reported'] },
    async (way) => {
      for (const [name, call] of calls) {
        const error: unknown = await ways[way](call).catch((thrown: unknown) => thrown);
        expect({ name, error }).toMatchObject({
          name,
          error: { code: 'OUTBOX_MIGRATION_MISSING', details: { sqlState: expect.stringMatching(state) } },
        });
      }
    },
  );

  test('consumers name the migration', async () => {
    for (const client of [prisma, clientOf(pool)]) {
      const consuming = consumer<Transaction>(client, { config, group: 'shop' });
      consuming.on(orderPlaced, () => Promise.resolve());
      await expect(consuming.start()).rejects.toMatchObject({ code: 'OUTBOX_MIGRATION_MISSING' });
    }
  });

  test('operations name the migration', { tags: ['missing-outbox-reported'] }, async () => {
    const operations = operationsOf({ topics: [orderPlaced], database: { url: made.url } });
    await expect(operations.status()).rejects.toMatchObject({ code: 'OUTBOX_MIGRATION_MISSING' });
    await expect(operations.list({})).rejects.toMatchObject({ code: 'OUTBOX_MIGRATION_MISSING' });
    await operations.close();
  });

  test('the error of an own table is unchanged', async () => {
    const query = 'select * from lost_orders';
    await expect(transaction(prisma, (tx) => tx.$queryRawUnsafe(query))).rejects.toMatchObject({
      code: 'P2010',
    });
    await expect(transaction(clientOf(pool), (tx) => tx.query(query))).rejects.toMatchObject({
      code: '42P01',
    });
  });
});

test('operations name the missing migration also when the schema was dropped after they began', async () => {
  const made = await createTestDatabase();
  const operations = operationsOf({ topics: [orderPlaced], database: { url: made.url } });
  await operations.status();
  await made.database.query('drop schema outbox cascade');

  await expect(operations.list({})).rejects.toMatchObject({
    code: 'OUTBOX_MIGRATION_MISSING',
    details: { sqlState: '42P01', missing: 'outbox.message' },
  });
  await operations.close();
  await made.drop();
});

test('the error of an own trigger on a table of the outbox is unchanged', {
  tags: ['missing-outbox-reported'],
}, async () => {
  const made = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: made.url });
  await made.database.query(
    `create function copy_it() returns trigger language plpgsql as 'begin insert into lost_orders values (1); return null; end'`,
  );
  await made.database.query(
    'create trigger copy_it after insert on outbox.log_1 for each row execute function copy_it()',
  );

  await expect(
    transaction(clientOf(pool), (tx) => send(tx, orderPlaced, { orderId: '7' })),
  ).rejects.toMatchObject({ code: '42P01', message: 'relation "lost_orders" does not exist' });
  await pool.end();
  await made.drop();
});
