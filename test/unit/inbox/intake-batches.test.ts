import { expect, test } from 'vitest';
import { IntakeBench, numbered } from './intake-bench.ts';

/** The ids of each transaction of several messages. */
function chunks(bench: IntakeBench): readonly unknown[] {
  return bench.database.said('outbox.receive(').map(([, ids]) => JSON.parse(String(ids)) as unknown);
}

test('messages that wait for a batch to fill are neither looked up nor marked, and are offered again', {
  tags: ['batch-fills-or-ends'],
}, async () => {
  const bench = new IntakeBench({ batchSize: 2, batchWaitMs: 60_000 });

  const offered = await bench.offer([1, 2, 3].map((n) => numbered(n)));

  expect(bench.handled).toEqual([1, 2]);
  expect(offered.acknowledged).toEqual(['1', '2']);
  expect(offered.rejected).toHaveLength(1);
  expect(JSON.stringify(bench.database.said('outbox.'))).not.toContain('id-3');
});

test('a repeat in the same transaction is kept if the first one was', async () => {
  const confirm = { group: 'shop', receiptTimeout: ['1m'] } as const;
  const bench = new IntakeBench({ batchSize: 10, topicOptions: { confirm } });
  bench.database.on('outbox.receive(', () => [
    { arrivals: JSON.stringify(['behind', 'processed', 'new', 'processed']) },
  ]);

  await bench.offer([numbered(1), numbered(1), numbered(2), numbered(2)]);

  expect(bench.receipts.map(({ state, ids }) => [state, ids])).toEqual([
    ['parked', ['id-1', 'id-1']],
    ['processed', ['id-2', 'id-2']],
  ]);
});

test('a failed transaction is reported once, at its first message, and its messages are tried singly', async () => {
  let refused = true;
  const bench = new IntakeBench({
    batchSize: 2,
    handler: async (n) => {
      if (n === 2 && refused) throw new Error('no 2');
    },
  });

  const first = await bench.offer([1, 2, 3].map((n) => numbered(n)));

  expect(first.acknowledged).toEqual(['1', '2', '3']);
  expect(
    bench
      .told('attempt-failed')
      .map((event) => event.type === 'attempt-failed' && [event.offset, event.attempt, event.id]),
    'which message of several has failed is not known',
  ).toEqual([
    ['1', 1, undefined],
    ['2', 1, 'id-2'],
  ]);
  expect(bench.told('parked')).toEqual([expect.objectContaining({ id: 'id-2' })]);
  expect(bench.tally.counts()).toMatchObject({ handled: 2, parked: 1, failedAttempts: 2 });
  expect(bench.database.said('outbox.receive_one(').map(([, id]) => id)).toEqual([
    'id-1',
    'id-2',
    'id-2',
    'id-3',
  ]);

  // What was left of a failed transaction is not begun as one again.
  refused = false;
  let begun = 0;
  const before = chunks(bench).length;
  const again = await bench.offer(
    [2, 4, 5].map((n) => numbered(n)),
    { mayBegin: () => (begun += 1) <= 4 },
  );
  expect(again.acknowledged).toEqual(['2', '4', '5']);
  expect(chunks(bench).slice(before)).toEqual([['id-4', 'id-5']]);
});

test('a batch that may not continue ends before the next transaction', async () => {
  const bench = new IntakeBench({ batchSize: 2 });
  let left = 2;

  const offered = await bench.offer(
    [1, 2, 3].map((n) => numbered(n)),
    { mayBegin: () => (left -= 1) >= 0 },
  );

  expect(offered.acknowledged).toEqual(['1', '2']);
  expect(bench.database.said('and partition = $3 and owner')).toHaveLength(1);
});

test('a failed transaction with a rejected part leaves the rest to a later offer', async () => {
  const bench = new IntakeBench({
    batchSize: 2,
    handler: async (n) => {
      if (n === 1) throw new Error('no 1');
    },
  });
  bench.database.on('outbox.park(', () => {
    throw new Error('away');
  });

  const offered = await bench.offer([1, 2, 3].map((n) => numbered(n)));

  expect(offered).toEqual({ acknowledged: [], rejected: [['1', 1_000]] });
  expect(bench.handled).toEqual([]);

  // Here these begin one by one.
  const again = await bench.offer([1, 2, 3].map((n) => numbered(n)));
  expect(again).toEqual({ acknowledged: [], rejected: [['1', 2_000]] });
  expect(chunks(bench)).toEqual([['id-1', 'id-2']]);
});

test('a message that blocks its key is applied alone, without a failure', async () => {
  const bench = new IntakeBench({ batchSize: 3, blockKey: true });

  const offered = await bench.offer([numbered(1), numbered(2, { json: 'text' }), numbered(3)]);

  expect(offered.acknowledged).toEqual(['1', '2', '3']);
  expect(chunks(bench)).toEqual([]);
  expect(bench.told('attempt-failed')).toEqual([]);
  expect(bench.tally.counts()).toMatchObject({ handled: 2, failed: 1, failedAttempts: 0 });
  // It is cheap to find, so it is not remembered.
  await bench.offer([numbered(4), numbered(5)]);
  expect(chunks(bench)).toEqual([['id-4', 'id-5']]);

  const released = new IntakeBench({ batchSize: 3 });
  await released.offer([numbered(1), numbered(2, { json: 'text' }), numbered(3)]);
  expect(chunks(released)).toEqual([['id-1', 'id-2', 'id-3']]);
  expect(released.tally.counts()).toMatchObject({ handled: 2, failed: 1 });
});

test('a message that cannot be kept in its transaction is not acknowledged', async () => {
  const bench = new IntakeBench({ batchSize: 2 });
  bench.database.on('outbox.receive_one(', () => [{ stored: null }]);
  bench.database.on('outbox.receive(', () => [{ arrivals: JSON.stringify(['behind', 'behind']) }]);
  bench.database.on('outbox.park(', () => {
    throw new Error('away');
  });

  const offered = await bench.offer([numbered(1), numbered(2)]);

  expect(offered).toEqual({ acknowledged: [], rejected: [['1', 1_000]] });
});
