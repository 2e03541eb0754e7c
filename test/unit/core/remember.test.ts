import { expect, test } from 'vitest';
import { remember } from '../../../src/core/remember.ts';

test('a full memory forgets what was set longest ago, and nothing else', () => {
  const counts = new Map([
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ]);

  remember(counts, 'a', 4, 3);
  expect([...counts]).toEqual([
    ['b', 2],
    ['c', 3],
    ['a', 4],
  ]);

  remember(counts, 'd', 5, 3);
  expect([...counts]).toEqual([
    ['c', 3],
    ['a', 4],
    ['d', 5],
  ]);
});
