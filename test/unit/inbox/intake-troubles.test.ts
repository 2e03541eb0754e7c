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

test('a stop ends the pause before a quick retry, and the message stays open', async () => {
  const stopping = new AbortController();
  const bench = new IntakeBench({
    quickRetriesMs: [3_600_000],
    handler: async () => {
      stopping.abort();
      throw new Error('no');
    },
  });

  const offered = await bench.offer([numbered(1), numbered(2)], { signal: stopping.signal });

  expect(offered).toEqual({ acknowledged: [], rejected: [] });
  expect(bench.told('attempt-failed')).toHaveLength(1);
  expect(bench.parked()).toEqual([]);
});

test('a failure after the partition has moved does not count', async () => {
  const lost = new AbortController();
  const bench = new IntakeBench({
    handler: async () => {
      lost.abort();
      throw new Error('no');
    },
  });

  const offered = await bench.offer([numbered(1)], { lost: lost.signal });

  expect(offered).toEqual({ acknowledged: [], rejected: [] });
  expect(bench.events).toEqual([]);
  expect(bench.tally.failedAttempts).toBe(0);
});

test('messages that a dead consumer had in hand are handled one at a time, and the one that killed too often is failed', async () => {
  const bench = new IntakeBench();
  bench.database.on('with quick as materialized', ([, , , , ids]) =>
    [
      { id: 'id-2', kills: 1, alone: false },
      { id: 'id-3', kills: 3, alone: true },
    ].filter(({ id }) => Array.isArray(ids) && ids.length > 1 && ids.includes(id)),
  );

  const offered = await bench.offer([1, 2, 3, 4].map((n) => numbered(n)));

  expect(offered).toEqual({ acknowledged: ['1', '2', '3'], rejected: [] });
  expect(bench.handled).toEqual([1, 2]);
  expect(bench.marked()).toEqual([['id-1', 'id-2', 'id-3', 'id-4'], ['id-1'], ['id-2']]);
  expect(bench.database.said('with quick as materialized').map((values) => values[5])).toEqual([0, 0, 1]);
  expect(bench.told('failed')).toEqual([
    expect.objectContaining({
      id: 'id-3',
      reason: 'killed',
      error: new Error('Its consumer has died of it, again and again.'),
    }),
  ]);
  expect(bench.parked().map(([row]) => [row['id'], row['state'], row['reason']])).toEqual([
    ['id-3', 'failed', 'killed'],
  ]);
  expect(bench.database.said('and partition = $3 and owner'), 'the rest is offered again').toHaveLength(1);
  expect(bench.suspects.take(), 'none is in hand any more').toBe(true);
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

test('a stop removes all marks, also while the database is unreachable', async () => {
  const bench = new IntakeBench();
  await bench.offer([numbered(1)]);
  const [mark] = bench.database.said('insert into outbox.mark');

  await bench.intake.close();

  expect(bench.database.said('where consumer_group = $1 and owner = $2')).toEqual([['shop', mark?.[3]]]);
  bench.database.on('delete from outbox.mark', refuses);
  await bench.intake.close();
});

test('old marks are cleared once', async () => {
  const bench = new IntakeBench();

  await bench.offer([numbered(1)]);
  expect(bench.database.said("interval '1 day'")).toEqual([['shop']]);
  await bench.offer([numbered(2)]);

  expect(bench.database.said("interval '1 day'")).toHaveLength(1);
});

test('a full queue pauses the partition of its next message, after those before it', async () => {
  const bench = new IntakeBench({ maxQueued: 10 });
  bench.database.on('outbox.receive_one(', () => [{ stored: null }]);
  bench.database.on('outbox.receive(', () => [{ arrivals: JSON.stringify(['behind']) }]);
  let count = 10;
  bench.database.on('outbox.count_queue', () => [{ count }]);
  await bench.offer([numbered(1, { key: 'k' })]);
  expect(bench.database.said('outbox.count_queue')).toEqual([]);

  const full = await bench.offer([numbered(2, { key: 'other' }), numbered(3, { key: 'k' }), numbered(4)]);

  expect(full).toEqual({ acknowledged: ['2'], rejected: [['3', 1_000]] });
  expect(bench.database.said('outbox.count_queue')).toEqual([['shop', 'orders', 'k', 10]]);
  expect(bench.told('partition-paused')).toEqual([
    {
      type: 'partition-paused',
      address: 'orders',
      partition: 0,
      offset: '3',
      attempt: 1,
      retryInMs: 1_000,
      error: expect.objectContaining({
        code: 'OUTBOX_QUEUE_FULL',
        details: { topic: 'orders', maxQueued: 10 },
      }),
    },
  ]);
  expect(bench.intake.failing()).toMatchObject([{ topic: 'orders', offset: '3' }]);
  count = 9;
  expect((await bench.offer([numbered(3, { key: 'k' })])).acknowledged).toEqual(['3']);
});

test('a handler that catches the error of a statement fails, because its transaction is rolled back', async () => {
  const bench = new IntakeBench();
  bench.database.on('select', ([first]) => {
    if (first === undefined)
      throw Object.assign(new Error('current transaction is aborted'), { code: '25P02' });
    return [];
  });
  bench.database.on('outbox.receive_one(', () => [{ stored: 'true' }]);

  const offered = await bench.offer([numbered(1)]);

  expect(bench.told('attempt-failed')).toEqual([
    expect.objectContaining({ error: expect.objectContaining({ code: 'OUTBOX_TRANSACTION_ROLLED_BACK' }) }),
  ]);
  expect(offered.acknowledged).toEqual(['1']);
  expect(bench.told('parked')).toHaveLength(1);
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
