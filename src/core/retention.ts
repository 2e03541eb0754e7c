import type { Duration } from './duration.ts';
import { object, type Table } from './options/collections.ts';
import { optionTable } from './options/option-table.ts';
import { defaulted, duration, either } from './options/values.ts';

/** How long the outbox keeps finished messages. Every duration is at most 36,500 days. */
export interface Retention {
  /**
   * A finished message that has been unchanged for this long moves to the history, 1 minute or more; one of the log together with
   * the others of its leaf, which takes a quarter longer, or a 24th of `history`. @defaultValue 24 h
   */
  readonly archiveAfter?: Duration;
  /**
   * The same for failed messages, which an operator can retry only while they are live. Those of topics with
   * `exhausted: 'block-key'` always stay: they block their key, and with `onFailed` a failed one stays until it was called.
   * @defaultValue false: they stay
   */
  readonly archiveFailedAfter?: Duration | false;
  /**
   * Months and leaves of the history are dropped when their newest message was archived this long ago, 1 day or more. After that the id of
   * a message may be used again, and `cancel` answers `unknown`. @defaultValue 90 days
   */
  readonly history?: Duration;
  /**
   * Records of published batches, kept at least while messages of them are live or in a leaf of the log; 1 hour or more.
   * @defaultValue 7 days
   */
  readonly batches?: Duration;
  /** Attempts of messages, kept at least while the message is live; 1 hour or more. @defaultValue 90 days */
  readonly attempts?: Duration;
  /**
   * Minimum time that ids processed in this database are kept, 1 day or more; `once` has no window of its own. A consumer
   * may set a longer window, and ids of live messages stay while the messages are live. A message that arrives again after
   * that is handled again. @defaultValue 30 days
   */
  readonly processed?: Duration | false;
}

/** Retention with every default filled in; `null`: never. */
export interface RetentionRules {
  readonly archiveAfterMs: number;
  readonly archiveFailedAfterMs: number | null;
  readonly historyMs: number;
  readonly batchesMs: number;
  readonly attemptsMs: number;
  readonly processedMs: number | null;
}

/** The table of {@link Retention}. */
export const retentionOptions = object({
  archiveAfter: duration('1 min', undefined, '24h'),
  archiveFailedAfter: either([false], duration('1 min'), false),
  history: duration('1 day', undefined, '90 days'),
  batches: duration('1 hour', undefined, '7 days'),
  attempts: duration('1 hour', undefined, '90 days'),
  processed: either([false], duration('1 day', undefined, '30 days')),
} satisfies Table<Retention>);

const options = optionTable('the configuration', { retention: defaulted(retentionOptions) });

/**
 * Fills in the defaults and checks the ranges.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` naming the option
 */
export function resolveRetention(retention?: Retention): RetentionRules {
  const { archiveAfter, archiveFailedAfter, attempts, batches, history, processed } = options.read({
    retention,
  }).retention;
  return {
    archiveAfterMs: archiveAfter,
    archiveFailedAfterMs: archiveFailedAfter === false ? null : archiveFailedAfter,
    historyMs: history,
    batchesMs: batches,
    attemptsMs: attempts,
    processedMs: processed === false ? null : processed,
  };
}
