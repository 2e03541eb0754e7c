import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { range } from '../../support/fixtures/inbox-stage.ts';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

test('a batch is one transaction', async () => {
  inbox = await openInbox();
  inbox.feed(...range(1, 25).map((n) => ({ n, key: `k${n % 3}` })));
  const running = await inbox.consume({ batch: { size: 10 }, inBatches: true });

  await until(() => running.counts().handled === 25);

  expect(await inbox.transactionSizes()).toEqual([10, 10, 5]);
  expect(await inbox.effects()).toEqual(range(1, 25));
});

test('handlers of single messages share the transaction of a batch, too', async () => {
  inbox = await openInbox();
  inbox.feed(...range(1, 8).map((n) => ({ n })));
  const running = await inbox.consume({ batch: { size: 8 } });

  await until(() => running.counts().handled === 8);

  expect(await inbox.transactionSizes()).toEqual([8]);
});

test('a failed batch leaves nothing and is handled singly: only the message that fails is parked', async () => {
  inbox = await openInbox();
  inbox.feed(...range(1, 10).map((n) => ({ n, key: `k${n % 5}` })));
  const running = await inbox.consume({
    batch: { size: 10 },
    inBatches: true,
    quickRetries: [],
    retry: ['1h'],
    after: ({ payload: { n } }) => {
      if (n === 4) throw new Error('the bank is closed');
    },
  });

  await until(() => running.counts().handled + running.counts().parked === 10);

  expect(await inbox.effects()).toEqual([1, 2, 3, 5, 6, 7, 8, 10]);
  expect(await inbox.kept()).toMatchObject([
    { n: 4, state: 'parked', reason: 'error' },
    { n: 9, state: 'parked', reason: null },
  ]);
  // The batch is reported at its first message.
  expect(running.counts().failedAttempts).toBe(2);
  expect(running.events.filter(({ type }) => type === 'attempt-failed')).toMatchObject([
    { offset: '0', attempt: 1 },
    { offset: '3', attempt: 1 },
  ]);

  inbox.feed(...range(11, 20).map((n) => ({ n, key: `k${n % 5}` })));
  await until(async () => (await running.status()).lag === 0);
  // What queues behind a parked key breaks no batch.
  expect((await inbox.transactionSizes()).at(-1)).toBe(8);
  expect((await inbox.kept()).map(({ n }) => n)).toEqual([4, 9, 14, 19]);
});

test('duplicates, repeats within one batch and unreadable messages do not fail the batch', async () => {
  inbox = await openInbox();
  inbox.feed(...range(1, 5).map((n) => ({ n })));
  const running = await inbox.consume({ batch: { size: 20 }, inBatches: true });
  await until(() => running.counts().handled === 5);

  inbox.feed(
    ...range(4, 8).map((n) => ({ n })),
    { n: 8 },
    { n: 9, body: 'no json' },
    { n: 9, body: 'no json' },
    ...range(10, 12).map((n) => ({ n })),
  );
  await until(async () => (await running.status()).lag === 0);

  expect(await inbox.effects()).toEqual([...range(1, 8), 10, 11, 12]);
  expect(running.counts()).toMatchObject({ handled: 11, duplicates: 4, failed: 1, failedAttempts: 0 });
  // Of the unreadable one nothing is processed, as its repeat shows.
  expect(running.events.filter(({ type }) => type === 'failed')).toHaveLength(1);
});

test('under block-key an unreadable message of a batch blocks the later ones of its key', async () => {
  inbox = await openInbox();
  inbox.feed({ n: 1, key: 'a' }, { n: 2, key: 'a', body: 'no json' }, { n: 3, key: 'a' }, { n: 4, key: 'b' });
  const running = await inbox.consume({ batch: { size: 10 }, inBatches: true, exhausted: 'block-key' });

  await until(async () => (await running.status()).lag === 0);

  expect(await inbox.effects()).toEqual([1, 4]);
  expect(await inbox.kept()).toMatchObject([
    { state: 'failed', reason: 'unreadable' },
    { n: 3, state: 'parked' },
  ]);
  expect(running.counts().failedAttempts).toBe(0);
});

test('keys of one partition are handled concurrently, each in order', async () => {
  inbox = await openInbox();
  let open = 0;
  let most = 0;
  const overlapping: number[] = [];
  const busy = new Set<string>();
  const running = await inbox.consume({
    keyConcurrency: 5,
    transactionTimeout: '1m',
    before: async ({ key, payload: { n } }) => {
      open += 1;
      most = Math.max(most, open);
      if (busy.has(key ?? '')) overlapping.push(n);
      busy.add(key ?? '');
      // The first ones wait for each other.
      await until(() => most === 5);
    },
    after: ({ key }) => {
      open -= 1;
      busy.delete(key ?? '');
    },
  });
  inbox.feed(...range(0, 199).map((n) => ({ n, key: `k${n % 20}` })));

  await until(() => running.counts().handled === 200);

  expect(most).toBe(5);
  expect(overlapping).toEqual([]);
  const effects = await inbox.effects();
  for (const key of range(0, 19)) {
    const theirs = effects.filter((n) => n % 20 === key);
    expect(theirs).toEqual(theirs.toSorted((a, b) => a - b));
  }
});

test('a batch that exceeds the limit of a transaction is handled singly', async () => {
  inbox = await openInbox();
  inbox.feed(...range(1, 6).map((n) => ({ n, key: `k${n}` })));
  const running = await inbox.consume({
    batch: { size: 1_000 },
    // Much longer than one message takes on a busy machine, and not long enough for all.
    transactionTimeout: '3s',
    after: () => delay(600),
  });

  await until(async () => (await running.status()).lag === 0, 60_000);

  expect(await inbox.effects()).toEqual(range(1, 6));
  expect(await inbox.kept()).toEqual([]);
  expect(running.counts()).toMatchObject({ handled: 6, parked: 0, failedAttempts: 1 });
});
