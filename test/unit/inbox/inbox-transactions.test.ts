import { PrismaPg } from '@prisma/adapter-pg';
import { Pool } from 'pg';
import { expect, test } from 'vitest';
import { PrismaClient } from '../../../src/demo/generated/client.ts';
import { InboxTransactions, poolSizeOf } from '../../../src/inbox/inbox-transactions.ts';
import type { TransactionClient } from '../../../src/inbox/transaction-client.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';

/** Tells with which options it is asked for a transaction. */
function told(): { readonly client: TransactionClient<Transaction>; readonly options: unknown[] } {
  const options: unknown[] = [];
  const tx: Transaction = { $queryRawUnsafe: () => Promise.reject(new Error('nobody asks')) };
  return {
    options,
    client: {
      $transaction(work, given) {
        options.push(given);
        return work(tx);
      },
    },
  };
}

test('a transaction has the limits that it asks for, else those of its consumer', async () => {
  const { client, options } = told();
  const transactions = new InboxTransactions(client, 2_000);

  await transactions.$transaction(async () => undefined);
  await transactions.$transaction(async () => undefined, { maxWait: 10_000, timeout: 30_000 });
  await new InboxTransactions(client, undefined).$transaction(async () => undefined);

  expect(options).toEqual([
    { maxWait: 30_000, timeout: 2_000 },
    { maxWait: 10_000, timeout: 30_000 },
    { maxWait: 30_000, timeout: 5_000 },
  ]);
});

test('the server ends what a transaction waits for by the limit of the consumer, else of the client', async () => {
  const prisma = new PrismaClient({
    adapter: new PrismaPg({ connectionString: 'postgres://nobody' }),
    transactionOptions: { timeout: 40_000 },
  });
  const extended = prisma.$extends({ client: { now: () => new Date() } });

  expect(new InboxTransactions(prisma, 2_000).limits).toEqual({ idleMs: 30_000, statementMs: 2_000 });
  expect(new InboxTransactions(prisma, undefined).limits).toEqual({ idleMs: 40_000, statementMs: 40_000 });
  expect(new InboxTransactions(extended, undefined).limits).toEqual({ idleMs: 40_000, statementMs: 40_000 });
  expect(new InboxTransactions(told().client, undefined).limits).toEqual({
    idleMs: 30_000,
    statementMs: 5_000,
  });
});

test('the size of a pool is known of Prisma with pg, as it was given or as pg chooses it', () => {
  const connectionString = 'postgres://nobody';
  const sizeOf = (adapter: PrismaPg) => poolSizeOf(new PrismaClient({ adapter }));

  expect(sizeOf(new PrismaPg({ connectionString }))).toBe(10);
  expect(sizeOf(new PrismaPg({ connectionString, max: 30 }))).toBe(30);
  expect(sizeOf(new PrismaPg(new Pool({ connectionString, max: 7 })))).toBe(7);
  expect(poolSizeOf(told().client)).toBeUndefined();
});
