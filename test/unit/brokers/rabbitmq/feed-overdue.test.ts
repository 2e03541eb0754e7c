import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { delivery, pick, stage, tick } from './feed-stage.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([true, false])(
  'a feed (in order: %s) is overdue as soon as it holds too many bytes, less the acknowledged ones',
  async (order) => {
    const held: (readonly number[])[] = [];
    const { feed, handled } = stage({
      order,
      fits(...now) {
        held.push(now);
        return now[1] < 100;
      },
    });
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

test('a feed is overdue when it holds nothing and far more would fit', async () => {
  const { feed, handled, prefetch, receive } = stage();
  const asked: (readonly number[])[] = [];
  prefetch.isTooSmall = (...given) => asked.push(given) > 1;
  let overdue = false;
  void feed.overdue.then(() => (overdue = true));
  receive('1', '2');
  await tick();
  await handled();
  const first = overdue;
  receive('3', '4');
  await tick();
  await handled((batch) => {
    for (const message of pick(batch, '3')) batch.acknowledge(message);
  });
  const held = overdue;
  feed.look();
  await tick();
  await handled();

  expect([first, held, overdue]).toEqual([false, false, true]);
  expect(asked).toEqual([
    [2, 2],
    [1, 1],
  ]);
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
