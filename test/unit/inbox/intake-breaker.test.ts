import { expect, onTestFinished, test, vi } from 'vitest';
import { permanent } from '../../../src/inbox/verdict.ts';
import { IntakeBench, numbered } from './intake-bench.ts';

test('while its address is paused one message probes, and the others wait', async () => {
  let broken = true;
  const bench = new IntakeBench({
    breakerKeys: 2,
    keyConcurrency: 2,
    handler: async () => {
      if (broken) throw new Error('no');
    },
  });
  vi.useFakeTimers({ toFake: ['performance', 'Date'], now: 50_000 });
  onTestFinished(() => void vi.useRealTimers());

  const pausing = await bench.offer([1, 2, 3].map((n) => numbered(n)));

  expect(pausing.acknowledged, 'one failure says nothing yet').toEqual(['1']);
  expect(pausing.rejected).toEqual([['2', expect.closeTo(1_100, -3)]]);
  expect(bench.told('address-paused')).toEqual([
    expect.objectContaining({ failedKeys: 2, keys: 2, probes: 0, nextProbeAt: new Date(51_000) }),
  ]);
  expect(bench.handled).toEqual([]);

  const clears = (): number => bench.database.said('and partition = $3 and owner').length;
  const before = clears();
  const waiting = await bench.offer([2, 3].map((n) => numbered(n)));
  expect(clears(), 'what did not begin left nothing').toBe(before);
  expect(waiting.acknowledged).toEqual([]);
  expect(waiting.rejected).toEqual([['2', expect.any(Number)]]);
  expect(bench.tally.failedAttempts).toBe(2);

  vi.advanceTimersByTime(1_001);
  const probed = await bench.offer([2, 3].map((n) => numbered(n)));
  expect(probed.rejected).toEqual([['2', expect.any(Number)]]);
  expect(bench.told('attempt-failed').at(-1)).toMatchObject({ offset: '2', attempt: 1 });
  expect(bench.parked(), 'no try counts').toHaveLength(1);
  expect(bench.marked().at(-1)).toEqual(['id-2']);
  expect(clears(), 'its mark is taken back').toBe(before + 1);

  broken = false;
  vi.advanceTimersByTime(2_001);
  const mended = await bench.offer([2, 3].map((n) => numbered(n)));
  expect(mended, 'another message than the last probe').toEqual({ acknowledged: ['3'], rejected: [] });
  expect(bench.told('address-resumed')).toHaveLength(1);
  expect((await bench.offer([numbered(2)])).acknowledged).toEqual(['2']);
});

test('a probe with a verdict is kept and leaves the pause as it is', async () => {
  let error: Error = new Error('no');
  const bench = new IntakeBench({ breakerKeys: 1, handler: () => Promise.reject(error) });
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  await bench.offer([numbered(1)]);
  vi.advanceTimersByTime(1_001);
  error = permanent(error);

  const probed = await bench.offer([numbered(1)]);

  expect(probed).toEqual({ acknowledged: ['1'], rejected: [] });
  expect(bench.told('failed')).toEqual([expect.objectContaining({ id: 'id-1', reason: 'permanent' })]);
  expect(bench.breaker.isPaused('orders')).toBe(true);
  expect(bench.told('address-paused')).toHaveLength(1);
  // The next probe is due a second later.
  vi.advanceTimersByTime(999);
  expect(bench.breaker.enter('orders')).toEqual(expect.any(Number));
  vi.advanceTimersByTime(2);
  expect(bench.breaker.enter('orders')).toBe('probe');
});

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
  expect(bench.told('failed')).toEqual([expect.objectContaining({ id: 'id-2', reason: 'killed' })]);
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
