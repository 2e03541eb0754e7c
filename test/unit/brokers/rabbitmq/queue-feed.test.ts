import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { offsets, pick, stage, tick } from './feed-stage.ts';

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

test('nothing is acknowledged before the batch has ended, and then only what is done before the first open message', async () => {
  const { acked, batches, feed, handled, receive } = stage();
  receive('1', '2', '3', '4');
  await tick();

  const [batch] = batches;
  if (batch !== undefined) for (const one of pick(batch, '1', '2', '4')) batch.acknowledge(one);
  await tick(50);
  const early = [...acked];
  await handled(() => undefined);

  expect(early).toEqual([]);
  expect(acked).toEqual(['2 and before']);
  expect(feed.unacknowledged).toBe(2);
  feed.look();
  await tick();
  expect(offsets(batches).at(-1)).toEqual(['3', '4']);
});

test('nothing is acknowledged of a batch whose first message stays open', async () => {
  const { acked, feed, handled, receive } = stage();
  receive('1', '2');
  await tick();

  await handled((batch) => {
    for (const message of pick(batch, '2')) batch.acknowledge(message);
  });

  expect(acked).toEqual([]);
  expect(feed.unacknowledged).toBe(2);
});

test('in order, a rejected message holds all later ones for its longest rest', async () => {
  const { acked, batches, handled, receive } = stage();
  receive('1', '2', '3');
  await tick();
  const may: boolean[] = [];

  await handled((batch) => {
    const [one, two, three] = batch.messages;
    if (one === undefined || two === undefined || three === undefined) return;
    may.push(batch.mayBegin());
    batch.acknowledge(one);
    batch.reject(two, 1_000);
    batch.reject(two, 10);
    may.push(batch.mayBegin());
    batch.acknowledge(two);
    batch.acknowledge(three);
  });
  receive('4');
  await tick(990);
  const before = batches.length;
  await tick(10);

  expect(may).toEqual([true, false]);
  expect(acked).toEqual(['1 and before']);
  expect(before).toBe(1);
  expect(offsets(batches).at(-1)).toEqual(['2', '3', '4']);
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

test('a stop begins nothing more, waits for the batch in hand, and acknowledges at once what is done', async () => {
  const { acked, batches, end, feed, receive } = stage();
  receive('1', '2', '3');
  await tick();
  let stopped = false;

  const stop = feed.stop().then(() => (stopped = true));
  receive('4');
  await tick();
  const batch = batches[0];
  const during = {
    stopped,
    signal: batch?.signal.aborted,
    lost: batch?.lost.aborted,
    may: batch?.mayBegin(),
  };
  await end();
  await stop;
  feed.look();
  await tick();

  expect(during).toEqual({ stopped: false, signal: true, lost: false, may: false });
  expect(acked).toEqual(['3 and before']);
  expect(batches).toHaveLength(1);
  expect(feed.unacknowledged).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test('after the loss of a channel nothing is acknowledged, the batch is lost, and nothing more begins', async () => {
  const { acked, batches, feed, handled, receive } = stage({ batchSize: 1 });
  receive('1', '2');
  await tick();
  let over = false;

  const lost = feed.lose().then(() => (over = true));
  await tick();
  const during = over;
  await handled();
  await lost;
  feed.look();
  await tick();

  expect(during).toBe(false);
  expect(batches[0]?.lost.aborted).toBe(true);
  expect(batches).toHaveLength(1);
  expect(acked).toEqual([]);
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
