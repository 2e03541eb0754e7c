import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import {
  cancel,
  clientOf,
  send,
  sendBatch,
  type Transaction,
  topic,
  transaction,
} from '../../../src/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';

const orders = topic('orders', z.object({ n: z.number() }));

let made: TestDatabase;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  made = await createTestDatabase();
  await made.database.query('create table effect (n int primary key)');
});

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await made.database.query('truncate effect');
  await made.database.query('delete from outbox.message');
});

afterAll(() => made.drop());

type Run = <Result>(work: (tx: Transaction) => Promise<Result>) => Promise<Result>;

const clients: readonly { readonly by: string; readonly open: () => Run }[] = [
  {
    by: 'a pool',
    open() {
      const pool = new pg.Pool({ connectionString: made.url, max: 2 });
      ends.push(() => pool.end());
      return (work) => transaction(clientOf(pool), work);
    },
  },
  {
    by: 'Prisma',
    open() {
      const prisma = openPrisma(made.url);
      ends.push(() => prisma.$disconnect());
      return (work) => transaction(prisma, work);
    },
  },
];

const order = (tx: Transaction): PromiseLike<unknown> =>
  tx.$queryRawUnsafe('insert into effect (n) values (1) returning n');

/** Orders and messages, as another connection sees them. */
async function committed(): Promise<{ readonly orders: number; readonly messages: number } | undefined> {
  const [row] = await made.database.query<{ orders: number; messages: number }>(
    `select (select count(*)::integer from effect) as orders,
       (select count(*)::integer from outbox.message where state <> 'canceled') as messages`,
  );
  return row;
}

for (const { by, open } of clients) {
  test(`a last send that is not awaited commits with its order: ${by}`, { tags: ['no-loss'] }, async () => {
    await open()(async (tx) => {
      await order(tx);
      void send(tx, orders, { n: 1 });
      void sendBatch(tx, orders, [{ payload: { n: 2 } }, { payload: { n: 3 } }]);
    });
    expect(await committed()).toEqual({ orders: 1, messages: 3 });
  });

  test(`a cancel that is not awaited commits with its order: ${by}`, async () => {
    const run = open();
    await run((tx) => send(tx, orders, { n: 1 }, { ref: 'r', after: '1 hour' }));
    await run(async (tx) => {
      await order(tx);
      void cancel(tx, orders, 'r');
    });
    expect(await committed()).toEqual({ orders: 1, messages: 0 });
  });

  test(`an order is rolled back if a send that is not awaited is refused: ${by}`, async () => {
    const work = open()(async (tx) => {
      await order(tx);
      void send(tx, orders, { n: 'one' } as unknown as { n: number });
      void send(tx, orders, { n: 2 });
    });
    await expect(work).rejects.toMatchObject({ code: 'OUTBOX_PAYLOAD_INVALID' });
    expect(await committed()).toEqual({ orders: 0, messages: 0 });
  });

  test(`an order commits although its send was refused and the refusal caught: ${by}`, async () => {
    await open()(async (tx) => {
      await order(tx);
      await send(tx, orders, { n: 'one' } as unknown as { n: number }).catch(() => undefined);
    });
    expect(await committed()).toEqual({ orders: 1, messages: 0 });
  });
}
