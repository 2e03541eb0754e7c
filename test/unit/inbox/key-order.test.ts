import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { inKeyOrder } from '../../../src/inbox/intake/key-order.ts';

interface Item {
  readonly key: string | null;
  readonly n: number;
}

const items = (...keys: readonly (string | null)[]): readonly Item[] => keys.map((key, n) => ({ key, n }));

/** Runs the items and returns in which order they began and how many ran concurrently at most. */
async function run(some: readonly Item[], sideBySide: number, stopAt?: number) {
  const begun: number[] = [];
  const running = new Set<Item>();
  let most = 0;
  await inKeyOrder(
    some,
    sideBySide,
    ({ key }) => key,
    async (item) => {
      for (const other of running) expect(other.key === null || other.key !== item.key).toBe(true);
      begun.push(item.n);
      running.add(item);
      most = Math.max(most, running.size);
      for (let turn = 0; turn < 3; turn += 1) await setImmediate();
      running.delete(item);
      return item.n !== stopAt;
    },
  );
  return { begun, most };
}

test('items of different keys run concurrently, as many as allowed', async () => {
  expect(await run(items('a', 'b', 'c', 'd', 'e'), 3)).toEqual({ begun: [0, 1, 2, 3, 4], most: 3 });
});

test('items of one key follow each other, and others overtake them', async () => {
  const { begun, most } = await run(items('a', 'a', 'a', 'b', 'b'), 2);
  expect(most).toBe(2);
  expect(begun).toEqual([0, 3, 1, 4, 2]);
});

test('items without a key wait for none', async () => {
  expect(await run(items(null, null, null), 3)).toEqual({ begun: [0, 1, 2], most: 3 });
});

test('an item that stops the run lets no other begin', async () => {
  const { begun } = await run(items('a', 'b', 'c', 'd'), 1, 1);
  expect(begun).toEqual([0, 1]);
});

test('runs nothing for an empty list', async () => {
  expect(await run([], 4)).toEqual({ begun: [], most: 0 });
});
