import { PrismaPg } from '@prisma/adapter-pg';
import { Pool } from 'pg';
import { expect, test, vi } from 'vitest';
import { PrismaClient } from '../../../dev/generated/shop/client.ts';
import {
  InboxTransactions,
  limitOf,
  poolSizeOf,
  transactionsOf,
} from '../../../src/inbox/inbox-transactions.ts';
import type { TransactionClient } from '../../../src/inbox/transaction-client.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { byNow, fakeTimeUntilEnd, pass, soFar } from '../../support/fixtures/fake-time.ts';
import { ScriptedClient } from '../../support/fixtures/scripted-client.ts';

/** Records the options with which a transaction is requested. */
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

test('a transaction has the limits requested, otherwise those of its consumer', async () => {
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

test('the server limits waits of a transaction by the limit of the consumer, otherwise of the client', async () => {
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

test('a client whose transactions may take 30 days is asked for one of a day, as timers and the server cannot count more', async () => {
  const { client, options } = told();
  const dayMs = 86_400_000;
  const told30 = Object.assign(client, { _engineConfig: { transactionOptions: { timeout: 30 * dayMs } } });
  const transactions = new InboxTransactions(told30, undefined);

  await transactions.$transaction(async () => undefined);

  expect(options).toEqual([{ maxWait: 30_000, timeout: dayMs }]);
  expect(transactions.limits).toEqual({ idleMs: dayMs, statementMs: dayMs });
});

test('the size of a pool is known for Prisma with pg, as given or as chosen by pg', () => {
  const connectionString = 'postgres://nobody';
  const sizeOf = (adapter: PrismaPg) => poolSizeOf(new PrismaClient({ adapter }));

  expect(sizeOf(new PrismaPg({ connectionString }))).toBe(10);
  expect(sizeOf(new PrismaPg({ connectionString, max: 30 }))).toBe(30);
  expect(sizeOf(new PrismaPg(new Pool({ connectionString, max: 7 })))).toBe(7);
  expect(poolSizeOf(told().client)).toBeUndefined();
});

test('a time limit of the client counts if it is a number above zero', () => {
  const timeoutOf = (timeout: unknown) => limitOf({ _engineConfig: { transactionOptions: { timeout } } });

  expect([timeoutOf(1), timeoutOf(0), timeoutOf(-1), timeoutOf('9')]).toEqual([
    1,
    undefined,
    undefined,
    undefined,
  ]);
  expect(limitOf({ _engineConfig: {} })).toBeUndefined();
});

test('the isolation level is set in every transaction of a database with another default, and in no other', async () => {
  for (const [level, named] of [
    ['read committed', {}],
    ['serializable', { isolationLevel: 'ReadCommitted' }],
  ] as const) {
    const database = new ScriptedClient().on('transaction_isolation', () => [{ level }]);
    const transactions = new InboxTransactions(database.client, 2_000);
    await transactions.learnLevel();
    await transactions.$transaction(async () => undefined);

    expect(database.transactions.map(({ options }) => options)).toEqual([
      undefined,
      { maxWait: 30_000, timeout: 2_000, ...named },
    ]);
  }
});

test('work that has not ended five seconds after the limit is abandoned', async () => {
  fakeTimeUntilEnd();
  let connect = (): void => undefined;
  const connected = new Promise<void>((resolve) => (connect = resolve));
  const { client } = told();
  const transactions = new InboxTransactions<Transaction>(
    { $transaction: (work) => connected.then(() => client.$transaction(work)) },
    2_000,
  );
  const stuck = soFar(transactions.$transaction(() => new Promise(() => undefined)));
  await pass(60_000);
  expect(stuck.state, 'it waits for a connection').toBe('open');
  connect();
  await pass(6_999);
  expect(stuck.state).toBe('open');
  await pass(1);

  expect(stuck.error).toMatchObject({
    code: 'OUTBOX_HANDLER_STUCK',
    message: expect.stringMatching(/not ended 7 s after.*which is given 2 s/),
  });
});

test('a transaction that has ended or failed leaves no timer behind', async () => {
  fakeTimeUntilEnd();
  const transactions = new InboxTransactions(told().client, 2_000);
  expect(await byNow(transactions.$transaction(async () => 'done'))).toBe('done');
  await expect(transactions.$transaction(() => Promise.reject(new Error('no')))).rejects.toThrow('no');

  expect(vi.getTimerCount()).toBe(0);
});

test('a transaction of a bulk operation sets its idle limit first, and a single statement has one', async () => {
  const database = new ScriptedClient().on('select now', ([value]) => [{ value }]);
  const transactions = transactionsOf(new InboxTransactions(database.client, 2_000));

  expect(await transactions.transaction((sql) => sql.query('select now', [1]))).toEqual([{ value: 1 }]);
  expect(await transactions.query('select now', [2])).toEqual([{ value: 2 }]);

  for (const { options, statements } of database.transactions) {
    expect(options).toMatchObject({ timeout: 30_000 });
    expect(statements.map(({ text }) => text)).toEqual(['select outbox.limit_idle()', 'select now']);
  }
  expect(database.transactions).toHaveLength(2);
});
