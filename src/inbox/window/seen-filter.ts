/**
 * A fast first answer to "was this message processed already?", so that most duplicates cost no transaction.
 *
 * The database decides; a filter only saves work. So it may forget at any time, and it must never say that an id was
 * processed before the effects of its message are committed: a mark set before the work would drop the message for
 * good when its worker dies.
 *
 * It knows nothing of a database that is restored from a backup, and would go on to drop messages whose effects the
 * restore has undone. It must be emptied then, or given another epoch.
 */
export interface SeenFilter {
  /** Those of these ids that are surely processed. Answers within a bounded time; never rejects. */
  seen(group: string, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Notes ids whose effects are committed, never before. Ends within a bounded time; never rejects; may drop them. */
  add(group: string, ids: readonly string[]): Promise<void>;
  /**
   * What its user has named the history of the database, and changes after a restore. Needed where the database does not tell
   * that by itself, as on Aurora. @defaultValue none
   */
  readonly epoch?: string | undefined;
  /** Frees what it holds. Later calls have no effect: nothing is seen any more. Safe to repeat. */
  close(): Promise<void>;
}

/**
 * The filter as one consumer may use it: in an epoch of its database, and without a way to disturb it.
 *
 * Ids noted in one epoch are unknown in every other. What the filter throws counts as "not seen"; an id that was not
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
        // The ids are only unknown to it: the database answers for them.
      }
    },
    close: () => filter.close(),
  };
}
