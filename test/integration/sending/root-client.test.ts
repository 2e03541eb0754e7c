import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { once } from '../../../src/consumer.ts';
import {
  cancel,
  fromQuery,
  reschedule,
  send,
  sendBatch,
  type Transaction,
  topic,
} from '../../../src/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';

let made: TestDatabase;
let prisma: PrismaClient;

const orders = topic('orders', z.object({ text: z.string() }));
const text = { text: 'x' };

beforeAll(async () => {
  made = await createTestDatabase();
  prisma = openPrisma(made.url);
});

afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

async function count(): Promise<number> {
  const [row] = await made.database.query<{ count: number }>(
    'select count(*)::integer as count from outbox.message',
  );
  return row?.count ?? -1;
}

test('a client outside of a transaction is refused, plain or extended; inside one both are accepted', async () => {
  const extended = prisma.$extends({ client: { $hello: () => 'hello' } });
  const outside = { code: 'OUTBOX_NOT_IN_TRANSACTION' };
  const before = await count();
  for (const client of [prisma, extended, null, undefined, {}, made.database]) {
    const tx = client as Transaction;
    await expect(send(tx, orders, text)).rejects.toMatchObject(outside);
    await expect(sendBatch(tx, orders, [{ payload: text }])).rejects.toMatchObject(outside);
    await expect(cancel(tx, orders, 'taken')).rejects.toMatchObject(outside);
    await expect(reschedule(tx, orders, 'taken', { after: 0 })).rejects.toMatchObject(outside);
  }
  expect(await count()).toEqual(before);

  await prisma.$transaction((tx) => send(tx, orders, text));
  await extended.$transaction((tx) => send(tx, orders, text));
  expect(await count()).toBe(before + 2);
});

test('every call refuses a query without an open transaction, however its client treats the error', {
  tags: ['sql-refuses-the-same'],
}, async () => {
  const { database } = made;
  const autocommit = fromQuery((statement, values) => database.query(statement, values));
  const wrapped = fromQuery((statement, values) =>
    database.query(statement, values).catch((cause: unknown) => {
      throw new Error('Failed query', { cause });
    }),
  );
  const outside = { code: 'OUTBOX_NOT_IN_TRANSACTION' };
  const before = await count();
  for (const tx of [autocommit, wrapped]) {
    await expect(send(tx, orders, text)).rejects.toMatchObject(outside);
    await expect(sendBatch(tx, orders, [{ payload: text }])).rejects.toMatchObject(outside);
    await expect(cancel(tx, orders, 'taken')).rejects.toMatchObject(outside);
    await expect(reschedule(tx, orders, 'taken', { after: 0 })).rejects.toMatchObject(outside);
    await expect(once(tx, 'group', 'id', async () => undefined)).rejects.toMatchObject(outside);
  }
  expect(await count()).toEqual(before);

  await database.transaction((sql) =>
    send(
      fromQuery((statement, values) => sql.query(statement, values)),
      orders,
      text,
    ),
  );
  expect(await count()).toBe(before + 1);
});
