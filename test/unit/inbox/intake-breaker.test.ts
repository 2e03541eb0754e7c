import { expect, onTestFinished, test, vi } from 'vitest';
import { IntakeBench, numbered } from './intake-bench.ts';

test('a probe that has expired says nothing, and the next one begins at once', async () => {
  let broken = true;
  const bench = new IntakeBench({
    breakerKeys: 1,
    handler: async () => {
      if (broken) throw new Error('no');
    },
  });
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  await bench.offer([numbered(1)]);
  vi.advanceTimersByTime(1_001);
  broken = false;
  const over = { ce_expirytime: new Date(0).toISOString() };

  const expired = await bench.offer([numbered(2, { headers: over })]);
  expect(expired).toEqual({ acknowledged: ['2'], rejected: [] });
  expect(bench.breaker.isPaused('orders')).toBe(true);
  await bench.offer([numbered(3)]);
  expect(bench.handled).toEqual([3]);
  expect(bench.breaker.isPaused('orders')).toBe(false);
});

test('a probe that may have killed a consumer is tried in its turn, alone, until it has killed too often', async () => {
  let kills = 1;
  const bench = new IntakeBench({ breakerKeys: 1, handler: () => Promise.reject(new Error('no')) });
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  await bench.offer([numbered(1)]);
  vi.advanceTimersByTime(1_001);
  await bench.offer([1, 2].map((n) => numbered(n)));
  vi.advanceTimersByTime(2_001);
  bench.database.on('with quick as materialized', ([, , , , ids]) =>
    Array.isArray(ids) && ids.includes('id-2') ? [{ id: 'id-2', kills, alone: true }] : [],
  );

  const probed = await bench.offer([1, 2].map((n) => numbered(n)));

  expect(probed.rejected, 'the second key has its turn').toEqual([['2', expect.any(Number)]]);
  expect(bench.marked().slice(-2), 'its death would count').toEqual([['id-2'], ['id-2']]);
  vi.advanceTimersByTime(4_001);
  kills = 3;
  const tries = bench.tally.failedAttempts;
  expect((await bench.offer([1, 2].map((n) => numbered(n)))).rejected).toEqual([['1', expect.any(Number)]]);
  vi.advanceTimersByTime(8_001);
  const skipped = await bench.offer([1, 2].map((n) => numbered(n)));
  expect(skipped, 'a killer is no probe').toEqual({ acknowledged: ['2'], rejected: [] });
  expect(bench.tally.failedAttempts).toBe(tries + 1);
  expect(bench.told('failed')).toEqual([
    expect.objectContaining({
      id: 'id-2',
      reason: 'killed',
      error: new Error('Its consumer has died of it, again and again.'),
    }),
  ]);
});

test('a pause ends by a message that others left although the one before it fails always', {
  tags: ['outage-fails-no-message'],
}, async () => {
  const bench = new IntakeBench({
    breakerKeys: 1,
    handler: async (n) => {
      if (n === 1) throw new Error('no');
    },
  });
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  bench.database.on('with quick as materialized', ([, , , , ids]) =>
    Array.isArray(ids) && ids.includes('id-2') ? [{ id: 'id-2', kills: 1, alone: false }] : [],
  );
  await bench.offer([numbered(1)]);
  for (let turn = 0; turn < 2; turn += 1) {
    vi.advanceTimersByTime(30_001);
    await bench.offer([1, 2].map((n) => numbered(n)));
  }

  expect(bench.handled).toEqual([2]);
  expect(bench.breaker.isPaused('orders')).toBe(false);
});

test('a batch of known messages does not take the turn of a probe', async () => {
  const bench = new IntakeBench({ breakerKeys: 1, handler: () => Promise.reject(new Error('no')) });
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  await bench.offer([numbered(1)]);
  vi.advanceTimersByTime(1_001);
  bench.database.on('outbox.read_processed', () => [{ noted: '["id-1","id-2"]', others: null }]);

  const offered = await bench.offer([1, 2].map((n) => numbered(n)));

  expect(offered.acknowledged).toEqual(['1', '2']);
  expect(bench.breaker.enter('orders')).toBe('probe');
});

test('a probe that could not be marked is left to the next one', {
  tags: ['outage-fails-no-message'],
}, async () => {
  const bench = new IntakeBench({ breakerKeys: 1, handler: () => Promise.reject(new Error('no')) });
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  await bench.offer([numbered(1)]);
  vi.advanceTimersByTime(1_001);
  bench.database.on('with quick as materialized', () => {
    throw new Error('away');
  });
  await bench.offer([numbered(1)]);
  vi.advanceTimersByTime(1_001);

  expect(bench.breaker.enter('orders')).toBe('probe');
});

test('of a transaction only handled messages count against the failures of its keys', async () => {
  for (const [arrival, paused] of [
    ['new', false],
    ['processed', true],
  ] as const) {
    const failing = new Set([1, 3]);
    const bench = new IntakeBench({
      breakerKeys: 2,
      batchSize: 2,
      handler: async (n) => {
        if (failing.has(n)) throw new Error('no');
      },
    });
    await bench.offer([numbered(1, { key: 'a' })]);
    bench.database.on('outbox.receive_one(', () => [{ stored: null }]);
    bench.database.on('outbox.receive(', () => [{ arrivals: JSON.stringify([arrival]) }]);
    await bench.offer([numbered(2, { key: 'a' })]);
    bench.database.on('outbox.receive_one(', () => [{ stored: 'true' }]);

    await bench.offer([numbered(3, { key: 'b' })]);

    expect(bench.breaker.isPaused('orders')).toBe(paused);
  }
});
