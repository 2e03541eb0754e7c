import type { Duration } from '../core/duration.ts';
import { listOf, object, type Table } from '../core/options/collections.ts';
import { duration, optional, text } from '../core/options/values.ts';

/**
 * Consumer groups that relays watch, to report those that make no progress while messages wait for them: the groups of
 * this database, those from which topics expect receipts, and `groups`, at brokers that know how far a group is.
 */
export interface StalledSettings {
  /**
   * How long a group may stand at one message, 1 s to 30 days: longer than its slowest handler, and than its time between two commits.
   * One relay for all asks each broker every quarter of it, and at least once a minute. @defaultValue `'15m'`
   */
  readonly after?: Duration;
  /** More groups, by name: those that keep their processed ids elsewhere, or are written in another language. @defaultValue none */
  readonly groups?: readonly string[];
}

/** The setting `stalled`. */
export const stalledOptions = object({
  after: duration('1s', '30 days', '15m'),
  groups: optional(listOf(text(), 'a list of names of consumer groups')),
} satisfies Table<StalledSettings>);
