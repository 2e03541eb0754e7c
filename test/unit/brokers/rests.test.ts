import { expect, test } from 'vitest';
import { Rests } from '../../../src/brokers/rests.ts';

test('an address without clear answers is paused longer each time, up to a minute, until it acknowledges a message', () => {
  let nowMs = 0;
  const rests = new Rests(() => nowMs);
  const restedMs: number[] = [];
  for (let count = 1; count <= 9; count += 1) {
    rests.add('orders', 'silence');
    const beganMs = nowMs;
    while (rests.restOf('orders') !== undefined) nowMs += 500;
    restedMs.push(nowMs - beganMs);
  }
  expect(restedMs).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);

  rests.add('orders', 'silence');
  expect(rests.restOf('orders')).toEqual({
    scope: 'topic',
    reason: 'orders left messages in doubt 10 times in a row; the next is sent in 60 s: silence',
  });
  expect(rests.restOf('others')).toBeUndefined();
  rests.clear('orders');
  expect(rests.restOf('orders')).toBeUndefined();
});
