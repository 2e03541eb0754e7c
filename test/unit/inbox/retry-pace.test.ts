import { expect, test } from 'vitest';
import { nextTry } from '../../../src/inbox/retry-pace.ts';

const pace = (quick: readonly number[], tries: number) =>
  Array.from({ length: tries }, (_, index) => nextTry(quick, index + 1));

test('quick retries come first and in place, then pauses double from 1 s to 30 s', () => {
  expect(pace([100, 500], 9)).toEqual([
    { kind: 'in-place', inMs: 100 },
    { kind: 'in-place', inMs: 500 },
    ...[1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].map((inMs) => ({ kind: 'after-pause', inMs })),
  ]);
});

test('pauses stay at 30 s for ever', () => {
  expect(nextTry([], 1_000_000)).toEqual({ kind: 'after-pause', inMs: 30_000 });
});
