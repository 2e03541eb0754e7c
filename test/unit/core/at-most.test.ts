import { expect, test } from 'vitest';
import { atMost } from '../../../src/core/at-most.ts';

/** Doubles numbers, and counts how many are under way. */
function doubling() {
  let [running, most] = [0, 0];
  const double = async (n: number): Promise<number> => {
    running += 1;
    most = Math.max(most, running);
    // The later ones are the quicker ones.
    for (let turn = n; turn < 20; turn += 1) await Promise.resolve();
    running -= 1;
    if (n === 7) throw new Error('seven');
    return 2 * n;
  };
  return { double, running: () => running, most: () => most };
}

test('at most so many run at a time, and results are in the order of the items', async () => {
  const { double, most } = doubling();
  expect(await atMost(3, [1, 2, 3, 4, 5, 6], double)).toEqual([2, 4, 6, 8, 10, 12]);
  expect(most()).toBe(3);
  expect(await atMost(3, [9], double)).toEqual([18]);
  expect(await atMost(3, [], double)).toEqual([]);
});

test('after an error nothing runs any more', async () => {
  const { double, running } = doubling();
  await expect(atMost(3, [1, 2, 7, 4, 5], double)).rejects.toThrow('seven');
  expect(running()).toBe(0);
});
