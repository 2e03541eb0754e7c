import { expect, test } from 'vitest';
import { DrainPace } from '../../../src/inbox/parked/drain-pace.ts';

test('a transaction takes twice as many messages as the one before, 100 at most, while that is quick', () => {
  const pace = new DrainPace();
  const sizes = Array.from({ length: 9 }, () => {
    const { size } = pace;
    pace.done(size, 10);
    return size;
  });
  expect(sizes).toEqual([1, 2, 4, 8, 16, 32, 64, 100, 100]);
});

test('a queue that had fewer than it may take does not shrink it, and a slow one halves it', () => {
  const pace = new DrainPace();
  for (let n = 0; n < 4; n += 1) pace.done(pace.size, 10);
  pace.done(3, 10);
  expect(pace.size).toBe(16);
  pace.done(16, 500);
  expect(pace.size).toBe(16);
  pace.done(16, 2_000);
  expect(pace.size).toBe(8);
  pace.done(1, 60_000);
  expect(pace.size).toBe(1);
});

test('the messages of a transaction that failed are tried singly, and those behind them half as many at a time', () => {
  const pace = new DrainPace();
  for (let n = 0; n < 3; n += 1) pace.done(pace.size, 10);
  pace.failed(8);
  const sizes = Array.from({ length: 9 }, () => {
    const { size } = pace;
    pace.done(size, 10);
    return size;
  });
  expect(sizes).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 4]);
});
