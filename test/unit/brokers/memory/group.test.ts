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

test('a rejected message and later ones rest for its longest time, and other partitions continue', async () => {
  const { append, member } = stage(2);
  const one = member();
  append({}, {}, {});
  await one.subscribe();
  await tick();
  const may: (boolean | undefined)[] = [];
  await one.end(0, (batch) => {
    const [first, second, third] = batch.messages;
    if (first === undefined || second === undefined || third === undefined) return;
    may.push(batch.mayBegin());
    batch.acknowledge(first);
    batch.acknowledge(second);
    batch.reject(second, 500);
    batch.acknowledge(third);
    batch.reject(third, 100);
    may.push(batch.mayBegin());
  });
  append({ partition: 1 });
  await tick(499);
  const before = offsets(one.batches);
  await tick(1);
  // What a timer leaves to the next turn is a millisecond later here.
  await tick(1);

  expect(may).toEqual([true, false]);
  expect(before).toEqual(['0: 0,1,2', '1: 0']);
  expect(offsets(one.batches).at(-1)).toBe('0: 1,2');
});

test('an unacknowledged message is offered again at once', async () => {
  const { append, member } = stage(1);
  const one = member();
  append({});
  await one.subscribe();
  await tick();
  await one.end(0, () => undefined);

  expect(offsets(one.batches)).toEqual(['0: 0', '0: 0']);
});

test('the lag counts unacknowledged messages per partition', async () => {
  const { append, member } = stage(2);
  const one = member();
  append({}, {}, { partition: 1 });
  const subscribed = await one.subscribe();
  await tick();
  const before = await subscribed.lag();
  await one.end(0);

  expect([before, await subscribed.lag()].map((all) => all.map(({ messages }) => messages))).toEqual([
    [2, 1],
    [0, 1],
  ]);
});

test('a new group may begin at the newest messages', async () => {
  const { append, member } = stage(1);
  const one = member();
  append({}, {});
  await one.subscribe({ fromBeginning: false });
  append({});
  await tick();

  expect(offsets(one.batches)).toEqual(['0: 2']);
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

test('a member gets only partitions of its own addresses', async () => {
  const { append, member } = stage(1);
  const [one, two] = [member(), member()];
  await two.subscribe({ addresses: ['bills'] });
  await one.subscribe();
  append({});
  await tick();

  expect([offsets(one.batches), two.batches]).toEqual([['0: 0'], []]);
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
