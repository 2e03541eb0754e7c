import { expect, test } from 'vitest';
import { Slots } from '../../../src/sources/redis/slots.ts';

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
