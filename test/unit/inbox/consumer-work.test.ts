import { expect, onTestFinished, test } from 'vitest';
import { writeWire } from '../../../src/store/inbox/wire.ts';
import { fakeTimeUntilEnd, pass } from '../../support/fixtures/fake-time.ts';
import { consumerBench, numbered, numbers } from './consumer-bench.ts';

/** A failed message as the database shows it. */
const failed = {
  id: 'id-1',
  position: '1',
  topic: 'orders',
  address: 'orders',
  partition: 0,
  offset: '1',
  wire: writeWire({ key: 'k', headers: {} }),
  body: null,
  reason: 'error',
  error: 'no',
  attempts: 1,
};
const none = { handled: 0, duplicates: 0, expired: 0, parked: 0, failed: 0, ignored: 0, failedAttempts: 0 };

test('a handled message is acknowledged, counted, reported, confirmed, and progress', async () => {
  const handled: number[] = [];
  const { consumer, events, receipts, sources } = await consumerBench({
    topics: [
      numbers('returns', { confirm: { group: 'other', receiptTimeout: '1h' } }),
      numbers('orders', { confirm: { group: 'shop', receiptTimeout: '1h' } }),
    ],
    handler: async (n) => void handled.push(n),
  });
  const running = await consumer.start();
  onTestFinished(() => running.stop());
  expect([running.counts(), running.health().lastProgressAt]).toEqual([none, null]);
  expect(await sources[0].deliver(numbered(1))).toEqual([['acknowledged', '1']]);

  expect(handled).toEqual([1]);
  expect(running.counts()).toEqual({ ...none, handled: 1 });
  expect(running.health().lastProgressAt).not.toBeNull();
  expect(events).toMatchObject([{ type: 'handled', id: 'id-1', topic: 'orders', attempt: 1 }]);
  expect(receipts).toEqual([['orders', 'id-1']]);
});

test('status adds the kept messages of the group, and its lag at all sources', async () => {
  const { consumer, database, sources } = await consumerBench({
    topics: [numbers('orders'), numbers('stock')],
    sourceOf: { stock: 1 },
  });
  const kept = { parked: 3, parkedKeys: 2, failed: 1 };
  database.on('as "parkedKeys"', ([group]) => (group === 'shop' ? [kept] : []));
  const lags = [
    { address: 'orders', partition: 0, messages: 5 },
    { address: 'orders', partition: 1, messages: 7 },
    { address: 'stock', partition: 0, messages: 30 },
  ];
  sources[0].lag = async () => lags.slice(0, 2);
  sources[1].lag = async () => lags.slice(2);
  const running = await consumer.start();
  onTestFinished(() => running.stop());

  const status = { ...none, ...kept, inFlight: 0, failing: [], paused: [] };
  expect(await running.status()).toEqual({ ...status, lag: 42, partitions: lags });
  expect(await consumer.status()).toEqual(await running.status());
  sources[1].lag = () => Promise.reject(new Error('away'));
  expect(await running.status()).toEqual({ ...status, lag: null, partitions: [] });
});

test('messages in hand are shown in the status', async () => {
  let seen = 0;
  const { consumer, sources } = await consumerBench({
    handler: async () => {
      seen = (await consumer.status()).inFlight;
    },
  });
  const running = await consumer.start();
  onTestFinished(() => running.stop());
  await sources[0].deliver(numbered(1), numbered(2));

  expect(seen).toBe(2);
  expect((await running.status()).inFlight).toBe(0);
});

test('a parked message triggers a look at once', async () => {
  const { consumer, database, sources } = await consumerBench({
    settings: { quickRetries: [] },
    handler: () => Promise.reject(new Error('no')),
  });
  fakeTimeUntilEnd();
  const running = await consumer.start();
  await pass(500);
  const looks = (): number => database.said('outbox.due_keys').length;
  const before = looks();
  await sources[0].deliver(numbered(1));
  await pass(1);
  expect([running.counts().parked, looks()]).toEqual([1, before + 1]);
  await running.stop();
});

test('a failed message is copied at once', async () => {
  const { consumer, database, letters, sources } = await consumerBench({
    settings: { quickRetries: [], retry: [], deadLetters: true },
    handler: () => Promise.reject(new Error('no')),
  });
  fakeTimeUntilEnd();
  const running = await consumer.start();
  await pass(60);
  database.on('from outbox.parked p', () => (letters.length === 0 ? [failed] : []));
  await sources[0].deliver(numbered(1));
  await pass(1);
  expect([running.counts().failed, letters]).toEqual([1, ['orders.dead']]);
  await running.stop();
});
