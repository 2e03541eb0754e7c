import { expect, test } from 'vitest';
import { Slots } from '../../../src/core/slots.ts';

const never = new AbortController().signal;

test('slots limit how many run concurrently, and the next one starts when one ends', async () => {
  const slots = new Slots(2);
  const first = await slots.take(never);
  await slots.take(never);
  const third = slots.take(never);
  const soon = new Promise((resolve) => setImmediate(resolve, 'still waiting'));
  expect(await Promise.race([third, soon])).toBe('still waiting');

  first?.free();
  first?.free();
  expect(await third).toBeDefined();
  const stop = new AbortController();
  const fourth = slots.take(stop.signal);
  stop.abort();
  expect(await fourth).toBeUndefined();
});

test('a caller waiting for a slot comes before one that only asks for one', async () => {
  const slots = new Slots(1);
  const held = slots.tryTake();
  expect([held === undefined, slots.free, slots.tryTake()]).toEqual([false, 0, undefined]);
  const waiting = slots.take(never);

  held?.free();

  expect(slots.tryTake()).toBeUndefined();
  (await waiting)?.free();
  expect(slots.free).toBe(1);
});
