import type { SeenFilter } from '../../brokers/seen-filter.ts';

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
