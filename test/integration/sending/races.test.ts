import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { Prisma, type PrismaClient } from '../../../dev/generated/shop/client.ts';
import { cancel, send, topic } from '../../../src/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { byPg, byPrisma } from '../../support/fixtures/transaction-ways.ts';

let made: TestDatabase;
let prisma: PrismaClient;

const orders = topic('orders', z.object({ text: z.string() }));
const text = { text: 'x' };

beforeAll(async () => {
  made = await createTestDatabase();
  prisma = openPrisma(made.url);
  await made.database.query('create table public.note (text text)');
});

afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

/** Sends the ref in a transaction that stays open, then again in a second one that has to wait for the first. */
async function race(ref: string, end: 'commit' | 'rollback'): Promise<unknown> {
  const sent = gate();
  const finish = gate();
  const first = byPrisma(prisma)(async (tx) => {
    await send(tx, orders, text, { ref, after: '1 hour' });
    sent.open();
    await finish.opened;
    if (end === 'rollback') throw new Error('rolled back');
  }).catch((error: Error) => error.message);
  await sent.opened;
  const second = byPg(made.database)(async (tx) => {
    const answer = await send(tx, orders, text, { ref, after: '1 hour' }).catch((error: unknown) => error);
    await tx.$queryRawUnsafe(`insert into public.note values ($1) returning text`, ref);
    return answer;
  });
  await untilLockWaits(made.database, 1);
  finish.open();
  await first;
  return second;
}

test('a ref taken by an open transaction makes a second sender wait, and refuses it when that one commits', async () => {
  expect(await race('raced', 'commit')).toMatchObject({ code: 'OUTBOX_REF_TAKEN' });
  expect(await made.database.query(`select from public.note where text = 'raced'`)).toHaveLength(1);
  expect(await made.database.query(`select from outbox.message where ref = 'raced'`)).toHaveLength(1);
});

test('a ref taken by an open transaction goes to the second sender when the first is rolled back', async () => {
  expect(await race('given-back', 'rollback')).toMatchObject({ state: 'waiting', duplicate: false });
  expect(await made.database.query(`select from outbox.message where ref = 'given-back'`)).toHaveLength(1);
});

test('two concurrent senders of one id store one message, and the second gets a duplicate', async () => {
  const id = randomUUID();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => byPg(made.database)((tx) => send(tx, orders, text, { id }))),
  );
  expect(answers.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
  expect(new Set(answers.map((answer) => answer.id))).toEqual(new Set([id]));
});

test('under REPEATABLE READ a cancel that lost its race is a serialization failure', async () => {
  const { id } = await byPg(made.database)((tx) => send(tx, orders, text, { after: '1 hour' }));
  const lost = byPg(made.database)(async (tx) => {
    await tx.$queryRawUnsafe('set transaction isolation level repeatable read');
    await tx.$queryRawUnsafe('select count(*) from outbox.message');
    await made.database.query(`update outbox.message set state = 'ready' where id = $1`, [id]);
    return cancel(tx, orders, { id });
  });
  await expect(lost).rejects.toMatchObject({ code: '40001' });

  const another = await byPg(made.database)((tx) => send(tx, orders, text, { after: '1 hour' }));
  const lostByPrisma = prisma.$transaction(
    async (tx) => {
      await tx.$queryRawUnsafe('select count(*) from outbox.message');
      await made.database.query(`update outbox.message set state = 'ready' where id = $1`, [another.id]);
      return cancel(tx, orders, { id: another.id });
    },
    { isolationLevel: Prisma.TransactionIsolationLevel.RepeatableRead },
  );
  await expect(lostByPrisma).rejects.toThrow(/40001|could not serialize|write conflict/i);
});
