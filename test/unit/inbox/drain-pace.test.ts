import { expect, test } from 'vitest';
import { DrainPace } from '../../../src/inbox/parked/drain-pace.ts';

test('a transaction takes twice as many messages as the one before, at most 100, while that is quick', () => {
  const pace = new DrainPace();
  const sizes = Array.from({ length: 9 }, () => {
    const { size } = pace;
    pace.done(size, 10);
    return size;
  });
  expect(sizes).toEqual([1, 2, 4, 8, 16, 32, 64, 100, 100]);
});

test('a queue shorter than the limit does not lower it, and a slow transaction halves it', () => {
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

test('the messages of a failed transaction are tried singly, and later ones half as many at a time', () => {
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
