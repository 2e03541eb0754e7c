/**
 * Works items off side by side, but those of one key one after the other and in their order. The earliest item that may
 * begin does, so that little is done ahead of what is still open.
 */
export async function inKeyOrder<Item>(
  items: readonly Item[],
  sideBySide: number,
  keyOf: (item: Item) => string | null,
  /** @returns false when nothing further may begin */
  work: (item: Item) => Promise<boolean>,
): Promise<void> {
  let next = 0;
  /** Those that were passed over because their key was busy, in their order. */
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
  // A worker that finds only busy keys ends; whoever frees one of them takes what waited for it.
  await Promise.all(Array.from({ length: Math.min(sideBySide, items.length) }, worker));
}
