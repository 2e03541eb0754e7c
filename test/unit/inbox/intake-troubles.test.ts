import { expect, onTestFinished, test, vi } from 'vitest';
import { permanent } from '../../../src/inbox/verdict.ts';
import { IntakeBench, numbered } from './intake-bench.ts';

const refuses = (): never => {
  throw new Error('away');
};

test('a message that can be neither handled nor kept pauses its partition ever longer, until it has ended', async () => {
  let broken = true;
  const bench = new IntakeBench({
    handler: async () => {
      if (broken) throw new Error('no');
    },
  });
  bench.database.on('outbox.park(', refuses);

  const pauses = [];
  for (let round = 0; round < 3; round += 1)
    pauses.push(...(await bench.offer([numbered(1), numbered(2)])).rejected);

  expect(pauses).toEqual([
    ['1', 1_000],
    ['1', 2_000],
    ['1', 4_000],
  ]);
  expect(bench.told('partition-paused')).toEqual(
    [1, 2, 3].map((attempt) => ({
      type: 'partition-paused',
      address: 'orders',
      partition: 0,
      offset: '1',
      attempt,
      error: new Error('away'),
      retryInMs: 500 * 2 ** attempt,
    })),
  );
  expect(bench.intake.failing()).toMatchObject([{ attempts: 3, error: new Error('away') }]);
  expect(
    bench.database.said('and partition = $3 and owner'),
    'what is left to a later offer is not marked',
  ).toHaveLength(3);

  broken = false;
  const offered = await bench.offer([numbered(1), numbered(2)]);
  expect(offered).toEqual({ acknowledged: ['1', '2'], rejected: [] });
  expect(bench.told('partition-resumed')).toEqual([
    { type: 'partition-resumed', address: 'orders', partition: 0, offset: '1' },
  ]);
  expect(bench.intake.failing()).toEqual([]);
});

test('a database that does not answer before anything begins pauses the partition', async () => {
  const bench = new IntakeBench();
  bench.database.on('outbox.read_processed', refuses);

  const offered = await bench.offer([numbered(1), numbered(2)]);
  const again = await bench.offer([numbered(1), numbered(2)]);

  expect([offered, again]).toEqual([
    { acknowledged: [], rejected: [['1', 1_000]] },
    { acknowledged: [], rejected: [['1', 2_000]] },
  ]);
  expect(bench.told('partition-paused')).toEqual([
    expect.objectContaining({ offset: '1', attempt: 1, error: new Error('away'), retryInMs: 1_000 }),
    expect.objectContaining({ offset: '1', attempt: 2, retryInMs: 2_000 }),
  ]);
  expect(bench.intake.failing()).toMatchObject([{ topic: 'orders', attempts: 2 }]);
  expect(bench.tally.inFlight).toBe(0);
  // What the broker offers no more is forgotten.
  bench.database.on('outbox.read_processed', () => [{ noted: '[]', others: null }]);
  await bench.offer([numbered(5)]);
  expect(bench.intake.failing()).toEqual([]);
});

test('a conflict with another transaction is tried again ten times without using up a try; then it counts', async () => {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  let calls = 0;
  const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01' });
  const bench = new IntakeBench({
    handler: () => {
      calls += 1;
      return Promise.reject(deadlock);
    },
  });

  await bench.offer([numbered(1)]);

  expect(calls).toBe(11);
  expect(bench.told('attempt-failed').every((event) => 'attempt' in event && event.attempt === 1)).toBe(true);
  expect(bench.parked().map(([row]) => [row['state'], row['attempts']])).toEqual([['parked', 0]]);
});

test('an unreachable database leaves a message another try, even after its last one', async () => {
  const away = Object.assign(new Error('terminating connection'), { code: '57P01' });
  const bench = new IntakeBench({ retryMs: [], handler: () => Promise.reject(away) });

  await bench.offer([numbered(1)]);

  expect(bench.parked().map(([row, inMs]) => [row['state'], row['attempts'], inMs])).toEqual([
    ['parked', 0, 0],
  ]);
});

test('a rejected suspect, or a batch that may not continue, ends the search', async () => {
  for (const mayBegin of [undefined, 1]) {
    const bench = new IntakeBench({ handler: () => Promise.reject(new Error('no')) });
    bench.database.on('with quick as materialized', ([, , , , ids]) =>
      Array.isArray(ids) && ids.length > 1 ? [{ id: 'id-2', kills: 1, alone: false }] : [],
    );
    bench.database.on('outbox.park(', refuses);
    let left = mayBegin ?? 100;

    const offered = await bench.offer([numbered(1), numbered(2)], { mayBegin: () => (left -= 1) >= 0 });

    expect(offered.rejected).toHaveLength(mayBegin === undefined ? 1 : 0);
    expect(bench.marked()).toHaveLength(mayBegin === undefined ? 2 : 1);
    expect(bench.database.said('and partition = $3 and owner')).toHaveLength(1);
    expect(bench.suspects.take()).toBe(true);
  }
});

test('a message behind its parked key queues there, whatever its own failure', async () => {
  const bench = new IntakeBench({ handler: () => Promise.reject(permanent(new Error('no'))) });
  let asked = 0;
  bench.database.on('outbox.receive_one(', () =>
    (asked += 1) === 1 ? [{ stored: 'true' }] : [{ stored: null }],
  );
  bench.database.on('outbox.receive(', () => [{ arrivals: JSON.stringify(['behind']) }]);

  await bench.offer([numbered(1)]);

  expect(bench.parked().map(([row]) => row['state'])).toEqual(['parked']);
  expect(bench.calls).toEqual(['parked']);
});

test('a partition that moves frees the turn of its suspect', async () => {
  const turns: boolean[] = [];
  const bench = new IntakeBench({
    handler: async () => {
      turns.push(bench.suspects.take());
      bench.intake.assigned([{ address: 'orders', partition: 7 }]);
      turns.push(bench.suspects.take());
    },
  });
  bench.database.on('with quick as materialized', ([, , , , ids]) =>
    Array.isArray(ids) && ids.length > 1 ? [{ id: 'id-1', kills: 1, alone: false }] : [],
  );

  await bench.offer([numbered(1), numbered(2)]);

  expect(turns).toEqual([false, true]);
});

test('a mark that cannot be removed pauses the partition', async () => {
  const bench = new IntakeBench();
  bench.database.on('and partition = $3 and owner', refuses);
  let left = 2;

  const offered = await bench.offer([numbered(1), numbered(2)], { mayBegin: () => (left -= 1) >= 0 });

  expect(offered).toEqual({ acknowledged: ['1'], rejected: [['1', 1_000]] });
  expect(bench.told('partition-paused')).toHaveLength(1);
});
