/**
 * A fast first answer to "was this message processed already?", so that most duplicates cost no transaction.
 *
 * The database decides; a filter only saves work. So it may forget at any time, but must never say that an id was
 * processed before the effects of its message are committed: if the mark were set before the work, a message would be
 * lost when its worker dies.
 *
 * A filter does not notice that a database is restored from a backup, and would continue to drop messages whose effects
 * the restore has undone. It must then be emptied, or given another epoch.
 */
export interface SeenFilter {
  /** Those of these ids that are known to be processed. Resolves within a bounded time; never rejects. */
  seen(group: string, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Notes ids, after their effects are committed. Resolves within a bounded time; never rejects; may drop ids. */
  add(group: string, ids: readonly string[]): Promise<void>;
  /**
   * A name for the history of the database, to be changed after a restore. Needed if the database does not show a restore by
   * itself, as on Aurora. @defaultValue none
   */
  readonly epoch?: string | undefined;
  /** Frees its resources. Later calls have no effect: no id is seen any more. Safe to repeat. */
  close(): Promise<void>;
}

/**
 * The filter as one consumer uses it: bound to an epoch of its database, and unable to disturb the consumer.
 *
 * Ids noted in one epoch are unknown in every other. An error of the filter counts as "not seen"; an id that was not
 * asked for is not passed on.
 *
 * @param epoch changes whenever committed effects may have been undone, and is part of the name of the group
 */
export function filterInEpoch(filter: SeenFilter, epoch: string): SeenFilter {
  const nothing: ReadonlySet<string> = new Set<string>();
  const named = (group: string) => `${epoch}/${group}`;
  return {
    async seen(group, ids) {
      if (ids.length === 0) return nothing;
      try {
        const seen = await filter.seen(named(group), ids);
        return new Set(ids.filter((id) => seen.has(id)));
      } catch {
        return nothing;
      }
    },
    async add(group, ids) {
      if (ids.length === 0) return;
      try {
        await filter.add(named(group), ids);
      } catch {
        // The filter just does not know these ids: the database does.
      }
    },
    close: () => filter.close(),
  };
}
