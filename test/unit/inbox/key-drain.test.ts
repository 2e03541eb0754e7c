import { expect, onTestFinished, test, vi } from 'vitest';
import { begun, DrainBench } from './drain-bench.ts';

const no = (): Promise<never> => Promise.reject(new Error('no'));

/** Rows of the database that begin nothing. */
const answer = (kind: string, differs: { readonly waitMs?: number; readonly id?: string } = {}) => [
  { kind, waitMs: null, id: null, ...differs },
];

test.each([
  ['a free key', answer('gone'), { kind: 'drained' }],
  ['a waiting key', answer('wait', { waitMs: 321 }), { kind: 'waiting', inMs: 321 }],
  ['a key that a failed message blocks', answer('blocked'), { kind: 'blocked' }],
] as const)('the answer for %s is passed on', async (_, rows, answered) => {
  const bench = new DrainBench().begins(rows);

  expect(await bench.run()).toEqual(answered);
  expect([bench.events, bench.failed]).toEqual([[], 0]);
});

test.each([
  ['gone', { kind: 'drained' }],
  ['blocked', { kind: 'blocked' }],
  ['more', { kind: 'waiting', inMs: 5 }],
] as const)(
  'a message that killed its processes is reported as failed, and the key is %s',
  async (kind, answered) => {
    const bench = new DrainBench().begins(answer(kind, { id: 'id-9' }), answer('wait', { waitMs: 5 }));

    expect(await bench.run()).toEqual(answered);

    expect(bench.events).toEqual([{ type: 'failed', id: 'id-9', reason: 'killed', error: undefined }]);
    expect(bench.tally.counts().failed).toBe(1);
    expect(bench.failed).toBe(1);
  },
);

test('a handler of batches gets the messages of a try together', async () => {
  const bench = new DrainBench({ batch: true }).begins([begun(1), begun(2)]);

  await bench.run();

  expect(bench.handled).toEqual([[1, 2]]);
});

test('a drain waits for a busy key, at most two seconds', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const bench = new DrainBench();
  let asked = 0;
  bench.database.on('outbox.begin_try', () => {
    asked += 1;
    vi.advanceTimersByTime(1_000);
    return answer('busy');
  });

  expect(await bench.run()).toEqual({ kind: 'waiting', inMs: 1_000 });
  expect(asked).toBe(4);

  const standIn = { leave: new AbortController().signal };
  expect(await bench.run(undefined, standIn)).toEqual({ kind: 'waiting', inMs: 1_000 });
  expect(asked, 'a stand-in does not wait').toBe(5);

  asked = 0;
  bench.database.on('outbox.end_try', () => [{ ended: 'more' }]);
  bench.database.on('outbox.begin_try', () => {
    asked += 1;
    vi.advanceTimersByTime(1_000);
    return asked === 2 ? [begun(1)] : answer('busy');
  });
  await bench.run();
  expect(asked, 'the time begins anew after a try').toBe(6);
});

test('a suspect is tried alone, and by one drain of the consumer at a time', async () => {
  const bench = new DrainBench().begins(answer('suspect'), [begun(1)]);
  expect(await bench.run()).toEqual({ kind: 'drained' });
  expect(bench.database.said('outbox.begin_try').map((values) => values.slice(5, 7))).toEqual([
    [1, false],
    [1, true],
  ]);
  expect(bench.handled).toEqual([1]);
  expect(bench.suspects.take(), 'it was freed').toBe(true);

  bench.begins(answer('suspect'), [begun(2)]);
  expect(await bench.run(undefined, { leave: new AbortController().signal })).toEqual({
    kind: 'waiting',
    inMs: 1_000,
  });
  expect(bench.handled, 'another is in hand').toEqual([1]);
});

test('a decision of an operator in between ends the try without effects', async () => {
  const bench = new DrainBench().begins([begun(1)]);
  bench.database.on('outbox.join_try', () => [{ joined: false }]);

  expect(await bench.run()).toEqual({ kind: 'waiting', inMs: 0 });
  expect(bench.handled).toEqual([]);
  expect(bench.events).toEqual([]);
  expect(bench.database.said('outbox.end_try')).toEqual([]);
});

test.each([
  [{ kind: 'wait', waitMs: 20_000 }, { kind: 'waiting', inMs: 20_000 }, 0],
  [{ kind: 'busy', waitMs: null }, { kind: 'waiting', inMs: 0 }, 0],
  [{ kind: 'blocked', waitMs: null }, { kind: 'blocked' }, 1],
  [{ kind: 'gone', waitMs: null }, { kind: 'drained' }, 1],
  [{ kind: 'more', waitMs: null }, { kind: 'drained' }, 1],
] as const)('a failed try is stored, and %o answered', async (stored, answered, failed) => {
  const bench = new DrainBench({ handler: no }).begins([begun(1)]);
  bench.database.on('outbox.fail_try', () => [stored]);

  expect(await bench.run()).toEqual(answered);

  expect(bench.database.said('outbox.fail_try')).toEqual([
    ['key-1', 'shop', 'id-1', 2, 7, 'error', 'Error: no', false, [10_000, 20_000], true],
  ]);
  expect(bench.failed).toBe(failed);
  expect(bench.tally.counts()).toMatchObject({ failed, failedAttempts: 1 });
  const message = { id: 'id-1', topic: 'orders', key: 'k', address: 'orders', partition: 3, offset: '1' };
  const error = new Error('no');
  expect(bench.told('attempt-failed')).toEqual([{ type: 'attempt-failed', ...message, attempt: 2, error }]);
  expect(bench.told('failed')).toEqual(
    failed === 0
      ? []
      : [
          {
            type: 'failed',
            ...message,
            reason: 'error',
            error,
          },
        ],
  );
});

test('a permanently unreadable message is final, and one that only another consumer can read is not', async () => {
  for (const [differs, reason, final] of [
    [{ body: Buffer.from('{').toString('base64') }, 'unreadable', true],
    [
      { wire: JSON.stringify({ key: 'k', headers: { ce_id: 'a', ce_type: 'unheard' } }) },
      'unknown-topic',
      false,
    ],
  ] as const) {
    const bench = new DrainBench({ quickRetriesMs: [0] }).begins([begun(1, { attempts: 1, ...differs })]);
    bench.database.on('outbox.fail_try', () => [{ kind: 'wait', waitMs: 5 }]);
    await bench.run();
    const [stored = []] = bench.database.said('outbox.fail_try');
    expect([stored[5], stored[7]]).toEqual([reason, final]);
    expect(bench.tally.failedAttempts, 'in place only what may help').toBe(final ? 1 : 2);
  }
});

test('a try interrupted by a stop is returned', async () => {
  const stopping = new AbortController();
  const bench = new DrainBench({
    quickRetriesMs: [3_600_000],
    handler: () => {
      stopping.abort();
      return no();
    },
  }).begins([begun(1, { attempts: 1 })]);

  expect(await bench.run(stopping.signal)).toEqual({ kind: 'waiting', inMs: 0 });
  expect(bench.database.said('outbox.return_try')).toEqual([['key-1', 'shop', 7, 0]]);
  expect(bench.database.said('outbox.fail_try')).toEqual([]);

  const late = new DrainBench().begins([begun(1)]);
  late.deadline.abort();
  await late.run();
  expect(late.database.said('outbox.return_try')).toHaveLength(1);
  expect(late.events, 'no failure of the message').toEqual([]);
});

test('a stand-in that yields to the workflow passes on the size of its transactions', async () => {
  const leaving = new AbortController();
  const bench = new DrainBench();
  bench.database.on('outbox.end_try', () => {
    leaving.abort();
    return [{ ended: 'more' }];
  });
  bench.begins([begun(1, { attempts: 1 })]);

  expect(await bench.run(undefined, { leave: leaving.signal })).toEqual({ kind: 'waiting', inMs: 0 });
  await bench.run();
  await bench.run();

  expect(bench.database.said('outbox.begin_try').map((values) => values[5])).toEqual([1, 2, 1]);
});
