/**
 * Processes items concurrently, but those of one key sequentially and in order. The earliest item that may begin goes
 * first, so that little is done ahead of open items.
 *
 * @returns false when some were left
 */
export async function inKeyOrder<Item>(
  items: readonly Item[],
  sideBySide: number,
  keyOf: (item: Item) => string | null,
  /** @returns false when nothing further may begin */
  work: (item: Item) => Promise<boolean>,
): Promise<boolean> {
  let next = 0;
  /** Items that were skipped because their key was busy, in order. */
  const passedOver: Item[] = [];
  const busy = new Set<string>();
  let stopped = false;

  const mayBegin = (item: Item): boolean => {
    const key = keyOf(item);
    return key === null || !busy.has(key);
  };
  const take = (): Item | undefined => {
    const index = passedOver.findIndex(mayBegin);
    if (index !== -1) return passedOver.splice(index, 1)[0];
    for (; next < items.length; next += 1) {
      const item = items[next];
      if (item === undefined) continue;
      if (mayBegin(item)) {
        next += 1;
        return item;
      }
      passedOver.push(item);
    }
    return undefined;
  };
  const worker = async (): Promise<void> => {
    for (let item = take(); item !== undefined && !stopped; item = take()) {
      const key = keyOf(item);
      if (key !== null) busy.add(key);
      try {
        if (!(await work(item))) stopped = true;
      } finally {
        if (key !== null) busy.delete(key);
      }
    }
  };
  // A worker that finds only busy keys ends; the worker that frees a key takes the items waiting for it.
  await Promise.all(Array.from({ length: Math.min(sideBySide, items.length) }, worker));
  return !stopped;
}
