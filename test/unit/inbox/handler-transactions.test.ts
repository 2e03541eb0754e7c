import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { GivenUp, HandlerTransactions } from '../../../src/inbox/handling/handler-transactions.ts';
import { InboxTransactions } from '../../../src/inbox/inbox-transactions.ts';
import type { Middleware } from '../../../src/inbox/middleware.ts';
import type { TransactionClient } from '../../../src/inbox/transaction-client.ts';
import { partOf } from '../../../src/store/database/pending-writes.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { gate } from '../../support/fixtures/gate.ts';

const tx: Transaction = { $queryRawUnsafe: () => Promise.reject(new Error('nobody asks')) };

function made(middlewares: readonly Middleware[] = [], limitMs = 60_000) {
  const deadline = new AbortController();
  const client = new InboxTransactions<Transaction>({ $transaction: (work) => work(tx) }, limitMs);
  return {
    deadline,
    transactions: new HandlerTransactions({ client, group: 'shop', middlewares, deadline: deadline.signal }),
  };
}

test('a signal requested after the loss of the partition has already fired', async () => {
  const { transactions } = made();
  const lost = AbortSignal.abort();

  const reason = await transactions.run([], lost, async (_tx, { signal }) => signal.reason as unknown);

  expect(reason).toMatchObject({ code: 'OUTBOX_HANDLER_GIVEN_UP' });
});

test('a given-up transaction that commits is a success, and one that fails does not count against its message', async () => {
  const { transactions } = made();
  const lost = AbortSignal.abort();

  expect(await transactions.run([], lost, async () => 'committed')).toBe('committed');
  await expect(
    transactions.run([], lost, async (_tx, { signal }) => signal.throwIfAborted()),
  ).rejects.toBeInstanceOf(GivenUp);
});

test('after the deadline no transaction begins', async () => {
  const { deadline, transactions } = made();
  deadline.abort();
  let begun = false;

  await expect(
    transactions.run([], undefined, async () => {
      begun = true;
    }),
  ).rejects.toBeInstanceOf(GivenUp);
  expect(begun).toBe(false);
});

test('middlewares do not run where no handler is called', async () => {
  const { transactions } = made([() => Promise.reject(new Error('called'))]);

  expect(await transactions.run([], undefined, async () => 'kept')).toBe('kept');
});

test('as many handlers as are in hand of a partition may listen without a warning', async () => {
  const warnings: Error[] = [];
  const heard = (warning: Error): void => void warnings.push(warning);
  process.on('warning', heard);
  onTestFinished(() => void process.off('warning', heard));
  const { transactions } = made();
  const lost = new AbortController();
  const { open, opened } = gate();

  const running = Array.from({ length: 50 }, () =>
    transactions.run([], lost.signal, async (_tx, { signal }) => {
      await opened;
      return signal.aborted;
    }),
  );
  await turn();
  open();

  expect(new Set(await Promise.all(running))).toEqual(new Set([false]));
  await turn();
  expect(warnings).toEqual([]);
});

test('a write that a handler does not await is part of its transaction, and its failure fails the message', async () => {
  const { transactions } = made();
  const written: string[] = [];
  const write = (name: string, refused: boolean): Promise<void> =>
    partOf(tx, async () => {
      await turn();
      if (refused) throw new Error(`${name} is refused`);
      written.push(name);
    });

  await transactions.run([], undefined, async () => void write('first', false));
  expect(written).toEqual(['first']);
  const refused = transactions.run([], undefined, async () => void write('second', true));
  await expect(refused).rejects.toThrow('second is refused');
});

test('the time of a handler begins with its connection, and ends with the reason that it took too long', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { open, opened } = gate();
  const waiting: TransactionClient<Transaction> = { $transaction: (work) => opened.then(() => work(tx)) };
  const client = new InboxTransactions<Transaction>(waiting, 60_000);
  const none = new AbortController().signal;
  const transactions = new HandlerTransactions({ client, group: 'shop', middlewares: [], deadline: none });
  const seen: unknown[] = [];
  const { open: end, opened: ended } = gate();
  const running = transactions.run([], undefined, async (_tx, { signal }) => {
    seen.push(signal.aborted);
    await vi.advanceTimersByTimeAsync(59_999);
    seen.push(signal.aborted);
    await vi.advanceTimersByTimeAsync(1);
    seen.push(signal.reason);
    await ended;
  });
  expect(transactions.open).toBe(1);
  // It waits that long for a connection.
  await vi.advanceTimersByTimeAsync(50_000);
  open();
  await vi.advanceTimersByTimeAsync(0);
  await vi.advanceTimersByTimeAsync(0);
  end();
  await running;

  expect(seen).toEqual([
    false,
    false,
    expect.objectContaining({ code: 'OUTBOX_HANDLER_STUCK', details: { limitMs: 60_000 } }),
  ]);
  expect(transactions.open).toBe(0);
});
