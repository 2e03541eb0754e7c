import { expect, test } from 'vitest';
import { nextPauseMs } from '../../../src/inbox/handling/retry-pace.ts';

test('pauses double from 1 s to 30 s', () => {
  expect(Array.from({ length: 7 }, (_, pauses) => nextPauseMs(pauses))).toEqual([
    1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
  ]);
});

test('pauses stay at 30 s without end', () => {
  expect(nextPauseMs(1_000_000)).toBe(30_000);
});
