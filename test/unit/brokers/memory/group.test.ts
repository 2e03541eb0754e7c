import { expect, onTestFinished, test, vi } from 'vitest';
import type { MemoryMessage } from '../../../../src/brokers/memory/memory-log.ts';
import { memorySource } from '../../../../src/brokers/memory/memory-source.ts';
import type { IncomingBatch } from '../../../../src/brokers/source.ts';
import { soFar } from '../../../support/fixtures/fake-time.ts';
import { acknowledgeAll, subscriberOf } from '../subscriber.ts';

/** Lets this time pass, on a clock that otherwise does not move, with a batch of each free partition. */
const tick = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** A source, and members of a group whose batches the test ends. */
function stage(partitions: number, usual = { concurrency: 10, batchSize: 10 }) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const source = memorySource({ partitions });
  const member = () => {
    const batches: IncomingBatch[] = [];
    const ends: (() => void)[] = [];
    const { subscribe, told } = subscriberOf(source, usual);
    onTestFinished(() => {
      for (const end of ends) end();
    });
    return {
      batches,
      told,
      subscribe: (own: Parameters<typeof subscribe>[1] = {}) =>
        subscribe((batch) => {
          batches.push(batch);
          return new Promise((resolve) => ends.push(resolve));
        }, own),
      /** Does this with the batch of this number, and ends it. */
      end: async (number: number, work: (batch: IncomingBatch) => void = acknowledgeAll) => {
        const batch = batches[number];
        if (batch !== undefined) work(batch);
        ends[number]?.();
        await tick();
      },
    };
  };
  const append = (...messages: readonly Partial<MemoryMessage>[]) =>
    source.append('orders', ...messages.map((message) => ({ body: null, partition: 0, ...message })));
  return { source, append, member };
}

const offsets = (batches: readonly IncomingBatch[]) =>
  batches.map(({ messages, partition }) => `${partition}: ${messages.map(({ offset }) => offset).join()}`);

test('a batch has at most the requested number of messages and at least one, and the next begins when it has ended', async () => {
  const { append, member } = stage(1, { concurrency: 10, batchSize: 2 });
  const one = member();
  append({}, {}, {});
  await one.subscribe();
  await tick();
  const during = offsets(one.batches);
  await one.end(0);
  const single = member();
  await single.subscribe({ group: 'single', batchSize: 0 });
  await tick();

  expect([during, offsets(one.batches)]).toEqual([['0: 0,1'], ['0: 0,1', '0: 2']]);
  expect(offsets(single.batches)).toEqual(['0: 0']);
});

test('the members of a group share its partitions, and one that loses a batch in hand is notified', async () => {
  const { append, member } = stage(2);
  const [one, two] = [member(), member()];
  append({}, { partition: 1 });
  await one.subscribe();
  await tick();
  const second = await two.subscribe();
  await tick();
  const ends = one.batches.map(({ lost, signal }) => [signal.aborted, lost.aborted]);
  await one.end(1, () => undefined);
  await tick();
  const moved = offsets(two.batches);
  const leaving = soFar(second.stop());
  await tick();
  const during = leaving.state;
  const left = two.batches.map(({ lost, signal }) => [signal.aborted, lost.aborted]);
  await two.end(0);
  append({ partition: 1 });
  await tick();

  expect(one.told.assigned.map((all) => all.map(({ partition }) => partition))).toEqual([
    [0, 1],
    [0],
    [0, 1],
  ]);
  expect(two.told.assigned.map((all) => all.map(({ partition }) => partition))).toEqual([[1]]);
  expect(ends).toEqual([
    [false, false],
    [true, true],
  ]);
  expect(moved).toEqual(['1: 0']);
  // One that leaves may end its batch, which counts.
  expect(left).toEqual([[true, false]]);
  expect([during, leaving.state]).toEqual(['open', 'resolved']);
  expect(offsets(one.batches).at(-1)).toBe('1: 1');
});

test('a rewind gives up the batch in hand and begins again without a new message', async () => {
  const { append, member, source } = stage(1);
  const one = member();
  append({}, {});
  await one.subscribe();
  await tick();
  await one.end(0);
  append({});
  await tick();
  source.rewind('stock', 'orders');
  const signal = one.batches[1]?.signal.aborted;
  await one.end(1);
  const again = offsets(one.batches).at(-1);
  await one.end(2);
  source.rewind('stock', 'orders');
  await tick();

  expect([signal, again, offsets(one.batches).at(-1)]).toEqual([true, '0: 0,1,2', '0: 0,1,2']);
  expect(one.batches).toHaveLength(4);
});

test('a group that is rewound receives everything again, and another group does not', async () => {
  const { append, member, source } = stage(1);
  const [one, other] = [member(), member()];
  append({}, {});
  await one.subscribe();
  await other.subscribe({ group: 'other' });
  await tick();
  await one.end(0);
  await other.end(0);
  source.rewind('stock', 'orders');
  append({});
  await tick();

  expect([offsets(one.batches).at(-1), offsets(other.batches).at(-1)]).toEqual(['0: 0,1,2', '0: 2']);
});

test('messages of one key share a partition, and those without a key are distributed in turn', () => {
  const source = memorySource({ partitions: 3 });
  const places = (key: string | null): number[] =>
    source
      .append('orders', { key, body: null }, { key, body: null }, { key, body: null })
      .map(({ partition }) => partition);

  for (const key of ['a', 'b', 'c', 'd']) expect(new Set(places(key)).size).toBe(1);
  expect(new Set(['a', 'b', 'c', 'd'].flatMap(places)).size).toBeGreaterThan(1);
  expect(new Set(places(null))).toEqual(new Set([0, 1, 2]));
});

test('a memory source without partitions, and a partition that does not exist, are refused', () => {
  expect(() => memorySource({ partitions: 0 })).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID' }),
  );
  expect(() => memorySource({ partitions: 2 }).append('orders', { body: 'a', partition: 2 })).toThrow(
    RangeError,
  );
});

test('a memory source reports a retention of a week, unless the option sets another', async () => {
  expect(await memorySource().redeliveryPeriodMs(['orders'])).toBe(604_800_000);
  expect(await memorySource({ retentionMs: 5 }).redeliveryPeriodMs(['orders'])).toBe(5);
});

test('a group without members is set back to a time, never forward, and one with members is refused', async () => {
  const { append, member, source } = stage(1);
  const one = member();
  const how = { group: 'stock', address: 'orders', to: new Date(0), dryRun: false };
  const subscribed = await one.subscribe();
  append({}, {});
  await tick();
  await one.end(0);
  await expect(source.rewindGroup(how)).rejects.toMatchObject({ code: 'OUTBOX_GROUP_IN_USE' });
  await subscribed.stop();

  const all = [{ partition: 0, before: '2', after: '0' }];
  expect(await source.rewindGroup({ ...how, dryRun: true })).toEqual(all);
  expect(await source.rewindGroup({ ...how, to: new Date(Date.now() + 60_000) })).toEqual([
    { partition: 0, before: '2', after: '2' },
  ]);
  expect(await source.rewindGroup(how)).toEqual(all);
  expect(await source.rewindGroup(how)).toEqual([{ partition: 0, before: '0', after: '0' }]);
  expect(await source.rewindGroup({ ...how, group: 'nobody' })).toEqual([]);
});

test('at most the requested number of partitions is handled at once', async () => {
  const { append, member } = stage(3, { concurrency: 2, batchSize: 10 });
  const one = member();
  append({}, { partition: 1 }, { partition: 2 });
  await one.subscribe();
  await tick();
  const during = offsets(one.batches);
  await one.end(0);

  expect([during, offsets(one.batches)]).toEqual([
    ['0: 0', '1: 0'],
    ['0: 0', '1: 0', '2: 0'],
  ]);
});

test('a member gets only partitions of its own addresses', async () => {
  const { append, member } = stage(1);
  const [one, two] = [member(), member()];
  await two.subscribe({ addresses: ['bills'] });
  await one.subscribe();
  append({});
  await tick();

  expect([offsets(one.batches), two.batches]).toEqual([['0: 0'], []]);
});
