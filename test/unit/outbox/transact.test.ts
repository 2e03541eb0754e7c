import { expect, onTestFinished, test, vi } from 'vitest';
import { type TransactionRunner, transaction } from '../../../src/outbox/transact.ts';

/** A client whose transactions end at once: far more commits in 2 ms than a server allows. */
function client(answer: () => Promise<never[]>): {
  readonly runner: TransactionRunner<string>;
  readonly nudges: () => number;
} {
  let nudged = 0;
  const runner: TransactionRunner<string> = {
    $transaction: (work) => work('tx'),
    $queryRawUnsafe: <Result>() => {
      nudged += 1;
      return answer() as Promise<Result>;
    },
  };
  return { runner, nudges: () => nudged };
}

test('a thousand commits at once wake the relays at once, and once more for later ones', async () => {
  // The time moves only by the test: a thousand commits are simultaneous on any machine.
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'], now: 0 });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1_000);
  const { runner, nudges } = client(async () => []);
  await Promise.all(Array.from({ length: 1_000 }, () => transaction(runner, async (tx) => tx)));
  expect(nudges()).toBe(1);
  vi.advanceTimersByTime(2);
  expect(nudges()).toBe(2);

  await transaction(runner, async (tx) => tx);
  vi.advanceTimersByTime(2);
  expect(nudges()).toBe(3);
});

test('options are passed to the client', async () => {
  const given: unknown[] = [];
  const runner: TransactionRunner<string, { readonly timeout: number }> = {
    $transaction: (work, options) => {
      given.push(options);
      return work('tx');
    },
    $queryRawUnsafe: async <Result>() => [] as Result,
  };
  await transaction(runner, async (tx) => tx, { timeout: 12_000 });
  await transaction(runner, async (tx) => tx);
  expect(given).toEqual([{ timeout: 12_000 }, undefined]);
});

test('two clients are nudged separately', async () => {
  const clients = [client(async () => []), client(async () => [])];
  for (const { runner } of clients) await transaction(runner, async (tx) => tx);
  expect(clients.map(({ nudges }) => nudges())).toEqual([1, 1]);
});

test('a failed nudge changes nothing: the commit holds', async () => {
  const { runner, nudges } = client(() => Promise.reject(new Error('no connection')));
  expect(await transaction(runner, async (tx) => `${tx} is committed`)).toBe('tx is committed');
  expect(nudges()).toBe(1);
});

test('failed work wakes nothing', async () => {
  const { runner, nudges } = client(async () => []);
  await expect(transaction(runner, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(nudges()).toBe(0);
});
