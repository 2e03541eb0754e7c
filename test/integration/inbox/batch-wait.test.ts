import { afterEach, expect, onTestFinished, test } from 'vitest';
import { InboxStage, range } from '../../support/fixtures/inbox-stage.ts';
import { type MemoryInbox, memoryInboxes } from '../../support/fixtures/memory-inbox.ts';
import { until } from '../../support/fixtures/until.ts';

const openInbox = memoryInboxes();
let inbox: MemoryInbox;
afterEach(() => inbox.leave());

const keyed = (...ns: readonly number[]) => ns.map((n) => ({ n, key: `k${n % 2}` }));

test('messages that trickle in are handled in one transaction after the wait, each once and in order', {
  tags: ['batch-fills-or-ends'],
}, async () => {
  inbox = await openInbox();
  const running = await inbox.consume({ batch: { size: 50, wait: '2s' } });
  for (const n of range(1, 5)) {
    inbox.feed(...keyed(n));
    // An offer of its own, unless one has gone already.
    await until(async () => (await running.status()).lag === n || running.counts().handled > 0);
  }

  await until(() => running.counts().handled === 5);

  expect(await inbox.transactionSizes()).toEqual([5]);
  expect(await inbox.effects()).toEqual(range(1, 5));
  await until(async () => (await running.status()).lag === 0);
});

test('a full batch does not wait, a stop does not wait for the rest, and the next consumer handles that once', {
  tags: ['batch-fills-or-ends'],
}, async () => {
  inbox = await openInbox({ partitions: 2 });
  const first = await inbox.consume({ batch: { size: 4, wait: '1m' } });
  inbox.feed(...keyed(1, 2, 3), { n: 11, partition: 1 });
  await until(async () => (await first.status()).lag === 4);
  inbox.feed(...keyed(4, 5, 6));
  await until(() => first.counts().handled === 4, 45_000);
  expect(await inbox.effects()).toEqual(range(1, 4));

  const from = performance.now();
  await first.stop();
  expect(performance.now() - from).toBeLessThan(10_000);
  const second = await inbox.consume({ batch: { size: 4, wait: '500ms' } });
  await until(() => second.counts().handled === 3);

  const effects = await inbox.effects();
  expect(effects.filter((n) => n < 11)).toEqual(range(1, 6));
  expect(effects.filter((n) => n === 11)).toHaveLength(1);
  expect(second.counts()).toMatchObject({ duplicates: 0 });
});

test('a message that fails in a gathered batch is tried and parked without waiting again, and the others have their effect', {
  tags: ['batch-fills-or-ends'],
}, async () => {
  inbox = await openInbox();
  const running = await inbox.consume({
    batch: { size: 3, wait: '1m' },
    quickRetries: [],
    retry: ['1h'],
    after: ({ payload: { n } }) => {
      if (n === 2) throw new Error('the bank is closed');
    },
  });
  inbox.feed(...range(1, 3).map((n) => ({ n, key: `k${n}` })));

  await until(() => running.counts().handled + running.counts().parked === 3, 45_000);

  expect(await inbox.effects()).toEqual([1, 3]);
  expect(await inbox.kept()).toMatchObject([{ n: 2, state: 'parked', reason: 'error' }]);
});

test('a backlog of large messages, of which a fetch has fewer than fill a batch, does not wait', {
  tags: ['batch-fills-or-ends'],
}, async () => {
  const stage = await InboxStage.create(1);
  onTestFinished(() => stage.end());
  const large = (n: number) => ({ n, body: JSON.stringify({ n, pad: 'x'.repeat(100_000) }) });
  // Kafka has less than a MiB in one answer: eight of these.
  for (let n = 1; n <= 24; n += 4) await stage.publish(range(n, n + 3).map(large));

  const running = await stage.consume('one', { batch: { size: 20, wait: '1m' } });

  await until(() => running.counts().handled >= 16, 45_000);
  expect(await stage.effects()).toEqual(range(1, 16));
});
