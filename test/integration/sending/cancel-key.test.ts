import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { cancel, send, sendBatch, topic } from '../../../src/index.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { byPrisma } from '../../support/fixtures/transaction-ways.ts';

let made: TestDatabase;
let prisma: PrismaClient;
beforeAll(async () => {
  made = await createTestDatabase();
  prisma = openPrisma(made.url);
});
afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

const orders = topic('orders', z.number());
const others = topic('others', z.number());
const run = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => byPrisma(prisma)(work);

async function statesOf(key: string): Promise<readonly string[]> {
  const rows = await made.database.query<{ seen: string }>(
    `select topic || ' ' || payload || ' ' || state as seen from outbox.message where key = $1 order by topic, position`,
    [key],
  );
  return rows.map(({ seen }) => seen);
}

test('all waiting messages of a key and topic are canceled in the transaction, and counted', async () => {
  const options = { key: 'o-1', after: '1 hour' } as const;
  await run((tx) =>
    sendBatch(
      tx,
      orders,
      [1, 2, 3].map((payload) => ({ payload, ...options })),
    ),
  );
  await run((tx) => send(tx, others, 4, options));
  await run((tx) => send(tx, orders, 5, { key: 'o-1' }));
  await run((tx) => send(tx, orders, 6, { key: 'o-2', after: '1 hour' }));

  const undone = run(async (tx) => {
    expect(await cancel(tx, orders, { key: 'o-1' })).toBe(3);
    throw new Error('unpaid after all');
  });
  await expect(undone).rejects.toThrow('unpaid after all');
  expect(await run((tx) => cancel(tx, orders, { key: 'o-1' }))).toBe(3);
  expect(await run((tx) => cancel(tx, orders, { key: 'o-1' }))).toBe(0);
  expect(await run((tx) => cancel(tx, orders, { key: 'none' }))).toBe(0);

  expect(await statesOf('o-1')).toEqual([
    'orders 1 canceled',
    'orders 2 canceled',
    'orders 3 canceled',
    'orders 5 ready',
    'others 4 waiting',
  ]);
  expect(await statesOf('o-2')).toEqual(['orders 6 waiting']);
});

test('of the retrying and blocked messages of a key those are canceled that are certainly not published', async () => {
  const options = { key: 'o-3', after: '1 hour' } as const;
  const stored = await run((tx) =>
    sendBatch(
      tx,
      orders,
      [1, 2, 3, 4, 5].map((payload) => ({ payload, ...options })),
    ),
  );
  const put = ['retrying', 'retrying', 'blocked', 'blocked', 'failed'];
  await made.database.transaction(async (sql) => {
    await sql.query('set local session_replication_role = replica');
    for (const [n, { id }] of stored.entries())
      await sql.query('update outbox.message set state = $2, maybe_published = $3 where id = $1', [
        id,
        put[n],
        n === 1 || n === 3,
      ]);
  });

  expect(await run((tx) => cancel(tx, orders, { key: 'o-3' }))).toBe(2);
  expect(await statesOf('o-3')).toEqual([
    'orders 1 canceled',
    'orders 2 retrying',
    'orders 3 canceled',
    'orders 4 blocked',
    'orders 5 failed',
  ]);
});

test('an invalid key is refused, and the transaction stays usable', async () => {
  const stored = await run(async (tx) => {
    for (const key of ['', 'x'.repeat(257), 'a\0b'])
      await expect(cancel(tx, orders, { key })).rejects.toMatchObject({ code: 'OUTBOX_KEY_INVALID' });
    const both = { key: 'k', id: 'x' };
    await expect(cancel(tx, orders, both)).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
    return send(tx, orders, 1);
  });
  expect(stored.state).toBe('ready');
});

test('plain SQL cancels by key as the library does', async () => {
  await run((tx) => send(tx, orders, 1, { key: 'o-4', after: '1 hour' }));
  expect(await made.database.query(`select outbox.cancel_key('orders', 'o-4') as count`)).toEqual([
    { count: 1 },
  ]);
  for (const [topicName, key, code] of [
    ['', 'k', 'OUTBOX_TOPIC_INVALID'],
    [null, 'k', 'OUTBOX_TOPIC_INVALID'],
    ['orders', '', 'OUTBOX_KEY_INVALID'],
    ['orders', null, 'OUTBOX_KEY_INVALID'],
  ])
    await expect(
      made.database.query('select outbox.cancel_key($1, $2)', [topicName, key]),
    ).rejects.toMatchObject({
      code: 'OB002',
      detail: code,
    });
});
