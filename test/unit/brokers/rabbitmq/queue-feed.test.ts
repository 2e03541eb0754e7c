import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { delivery, offsets, stage, tick } from './feed-stage.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('messages that arrive in one tick are offered together, up to the batch size, one batch at a time', async () => {
  const { acked, batches, feed, handled, receive, slots } = stage({ batchSize: 3 });

  receive('1', '2');
  expect(batches).toEqual([]);
  receive('3', '4');
  await tick();
  receive('5');
  await tick();
  const first = offsets(batches);
  await handled();

  expect(first).toEqual([['1', '2', '3']]);
  expect(batches[0]).toMatchObject({ address: 'orders', partition: 0 });
  expect(acked).toEqual(['3 and before']);
  expect(slots).toEqual({ free: 1, given: 1 });
  expect(feed.unacknowledged).toBe(2);
  feed.look();
  await tick();
  expect(offsets(batches)).toEqual([
    ['1', '2', '3'],
    ['4', '5'],
  ]);
});

test('without a free slot nothing is offered until the next look', async () => {
  const { batches, feed, receive, slots } = stage();
  slots.free = 0;

  receive('1');
  await tick();
  slots.free = 1;
  await tick();
  const before = batches.length;
  feed.look();
  await tick();

  expect(before).toBe(0);
  expect(offsets(batches)).toEqual([['1']]);
});

test('without order, a message that is done is acknowledged alone, and only the rejected one rests', async () => {
  const { acked, batches, feed, handled, receive } = stage({ order: false });
  receive('1', '2', '3', '4');
  await tick();
  const may: boolean[] = [];

  await handled((batch) => {
    const [one, two, three, four] = batch.messages;
    if (one === undefined || two === undefined || three === undefined || four === undefined) return;
    batch.reject(one, 1_000);
    may.push(batch.mayBegin());
    batch.acknowledge(one);
    batch.acknowledge(two);
    batch.reject(three, 500);
    batch.acknowledge(four);
  });
  receive('5');
  await tick();
  await handled();
  const soon = [...batches];
  await tick(500);
  await handled();
  await tick(500);

  expect(may).toEqual([true]);
  expect(acked).toEqual(['2', '4', '5', '3']);
  expect(offsets(soon).at(-1)).toEqual(['5']);
  expect(offsets(batches).slice(-2)).toEqual([['3'], ['1']]);
  expect(feed.unacknowledged).toBe(1);
});

test('messages that arrive in one tick cause one look, and messages that rest one wake-up', async () => {
  const { feed, handled, receive } = stage({ order: false });
  receive('1', '2', '3');
  // Another one looks at the age of what is held.
  const looks = vi.getTimerCount();
  await tick();
  await handled((batch) => {
    for (const message of batch.messages) batch.reject(message, 1_000);
  });
  for (let times = 0; times < 3; times += 1) {
    feed.look();
    await tick();
  }

  const wakes = vi.getTimerCount();
  await feed.stop();

  expect([looks, wakes, vi.getTimerCount()]).toEqual([2, 2, 0]);
});

test('acknowledgements are collected for 5 ms, or until they are as many as a batch', async () => {
  const { acked, end, receive } = stage({ order: false, batchSize: 2 });

  receive('1');
  await tick();
  await end();
  await tick(4);
  const before = [...acked];
  await tick(1);
  const after = [...acked];
  receive('2');
  await tick();
  await end();
  const again = [...acked];
  await tick(5);
  receive('3', '4');
  await tick();
  await end();

  expect([before, after, again]).toEqual([[], ['1'], ['1']]);
  expect(acked).toEqual(['1', '2', '3', '4']);
});

test('a channel that has just closed loses acknowledgements but breaks nothing', async () => {
  const { broken, handled, receive, slots } = stage();
  receive('1');
  await tick();
  broken.channel = true;

  await handled();

  expect(slots.given).toBe(1);
});

test('a feed is overdue when a message was held for its time, unless it was acknowledged before', async () => {
  const { feed, handled, receive } = stage({ holdForMs: 1_000 });
  let overdue = false;
  void feed.overdue.then(() => (overdue = true));
  receive('1');
  await tick(900);
  await handled();
  receive('2');
  await tick(994);
  const before = overdue;
  await tick(1);

  expect([before, overdue]).toEqual([false, false]);
  await tick(5);
  expect(overdue).toBe(true);
});

test('a batch says that it was cut when as much is held as may be, and that is less than a batch', async () => {
  const { batches, handled, prefetch, receive } = stage({ batchSize: 10 });
  vi.spyOn(prefetch, 'count', 'get').mockReturnValue(3);
  receive('1', '2');
  await tick();
  await handled(() => undefined);
  receive('3');
  await tick();
  await handled();
  vi.spyOn(prefetch, 'count', 'get').mockReturnValue(10);
  receive(...Array.from({ length: 10 }, (_, n) => String(n + 4)));
  await tick();

  expect(batches.map(({ cut, messages }) => [messages.length, cut])).toEqual([
    [2, false],
    [3, true],
    [10, false],
  ]);
});

test.each([true, false])(
  'a feed (in order: %s) is overdue as soon as it holds too many bytes, less the acknowledged ones',
  async (order) => {
    const held: (readonly number[])[] = [];
    const { feed, handled, prefetch } = stage({ order });
    prefetch.isExceeded = (...now) => {
      held.push(now);
      return now[1] >= 100;
    };
    let overdue = false;
    void feed.overdue.then(() => (overdue = true));

    feed.receive(delivery('1', 1, 40));
    feed.receive(delivery('2', 2, 50));
    await tick();
    await handled();
    feed.receive(delivery('3', 3, 60));
    await tick();
    const before = overdue;
    feed.receive(delivery('4', 4, 60));
    await tick();

    expect(held).toEqual([
      [1, 40],
      [2, 90],
      [1, 60],
      [2, 120],
    ]);
    expect([before, overdue]).toEqual([false, true]);
  },
);
