import { expect, test } from 'vitest';
import { restMs } from '../../../../src/brokers/redis/filter/redis-session.ts';

test('the first failure costs a rest of 1 s, and each further one twice as much, up to 30 s', () => {
  expect([1, 2, 3, 4, 5, 6, 7].map(restMs)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  expect(restMs(1_000_000)).toBe(30_000);
});
