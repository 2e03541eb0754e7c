import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { InboxStage, range } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';

let stage: InboxStage;
afterEach(() => stage.end());

/** Together they take longer than the source gives one partition at a time, 3 s at most. */
const slow = { messages: 24, eachMs: 150 } as const;

test('a batch that fails after more than its share of time is handled singly, and reported and retried together only once', async () => {
  stage = await InboxStage.create(1);
  const poison = slow.messages + 1;
  await stage.publish(range(1, poison).map((n) => ({ n, key: `k${n}` })));
  const running = await stage.consume('one', {
    batch: { size: 1_000 },
    transactionTimeout: '1m',
    quickRetries: [],
    retry: ['1h'],
    afterEffect: async ({ payload: { n } }) => {
      if (n === poison) throw new Error('the bank is closed');
      await delay(slow.eachMs);
    },
  });

  await until(async () => (await running.status()).lag === 0);

  expect(await stage.effects()).toEqual(range(1, slow.messages));
  expect(await stage.kept()).toMatchObject([{ n: poison, state: 'parked', reason: 'error' }]);
  expect(running.counts()).toMatchObject({ handled: slow.messages, parked: 1, failedAttempts: 2 });
  // The batch is reported at its first message.
  expect(running.events.filter(({ type }) => type === 'attempt-failed')).toMatchObject([
    { offset: '0', attempt: 1, error: new Error('the bank is closed') },
    { offset: String(slow.messages), attempt: 1 },
  ]);
});

test('a batch that exceeds the limit of a transaction is handled singly', async () => {
  stage = await InboxStage.create(1);
  // The 1 s of a partition that is alone is over by then, too.
  await stage.publish(range(1, 16).map((n) => ({ n, key: `k${n}` })));
  const running = await stage.consume('one', {
    batch: { size: 1_000 },
    // Much longer than one message takes on a busy machine, and not long enough for all.
    transactionTimeout: '6s',
    afterEffect: () => delay(3 * slow.eachMs),
  });

  await until(async () => (await running.status()).lag === 0, 60_000);

  expect(await stage.effects()).toEqual(range(1, 16));
  expect(await stage.kept()).toEqual([]);
  expect(running.counts()).toMatchObject({ handled: 16, parked: 0, failedAttempts: 1 });
}, 120_000);
