/**
 * Does the work for each item, for at most so many at a time.
 *
 * @returns the results in the order of the items
 * @throws the first error, when nothing runs any more
 */
export async function atMost<Item, Result>(
  most: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const ended = await Promise.allSettled(
    Array.from({ length: Math.min(most, items.length) }, async () => {
      for (const [index, item] of left) results[index] = await work(item);
    }),
  );
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return results;
}
