import { expect, test } from 'vitest';
import { pauseAfter } from '../../../src/core/pause-after.ts';

const pauses = { first: 1_000, most: 30_000 };

test('the first failure costs the first pause, and each further one twice as much, up to the longest', () => {
  expect([1, 2, 3, 4, 5, 6, 7].map((failures) => pauseAfter(failures, pauses))).toEqual([
    1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
  ]);
});

test('any number of failures has a pause', () => {
  expect(pauseAfter(0, pauses)).toBe(1_000);
  expect(pauseAfter(1_000_000, pauses)).toBe(30_000);
});
