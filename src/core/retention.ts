import { type Duration, durationMs, longestDurationMs } from './duration.ts';
import { OutboxError } from './errors.ts';

/** How long the outbox keeps finished messages. Every duration is at most 36,500 days. */
export interface Retention {
  /** A finished message that has been unchanged for this long moves to the history, 1 minute or more. @defaultValue 24 h */
  readonly archiveAfter?: Duration;
  /**
   * The same for failed messages, which an operator can retry only while they are live. Those of topics with
   * `exhausted: 'hold-key'` always stay: they hold their key. @defaultValue false: they stay
   */
  readonly archiveFailedAfter?: Duration | false;
  /**
   * Months of history are dropped when their newest message was archived this long ago, 1 day or more. After that the id of
   * a message may be used again, and `cancel` answers `unknown`. @defaultValue 90 days
   */
  readonly history?: Duration;
  /** Records of published batches, kept at least while messages of them are live; 1 hour or more. @defaultValue 7 days */
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

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const defaults = {
  archiveAfter: '24h',
  archiveFailedAfter: false,
  history: '90 days',
  batches: '7 days',
  attempts: '90 days',
  processed: '30 days',
} as const satisfies Retention;

/**
 * Fills in the defaults and checks the ranges.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` naming the option
 */
export function resolveRetention(retention: Retention = {}): RetentionRules {
  const unknown = Object.keys(retention).find((option) => !(option in defaults));
  if (unknown !== undefined) throw invalid(unknown, 'is not an option of the retention');
  const { archiveAfter, archiveFailedAfter, history, batches, attempts, processed } = {
    ...defaults,
    ...retention,
  };
  return {
    archiveAfterMs: within('archiveAfter', archiveAfter, minuteMs, '1 minute'),
    archiveFailedAfterMs:
      archiveFailedAfter === false
        ? null
        : within('archiveFailedAfter', archiveFailedAfter, minuteMs, '1 minute'),
    historyMs: within('history', history, dayMs, '1 day'),
    batchesMs: within('batches', batches, hourMs, '1 hour'),
    attemptsMs: within('attempts', attempts, hourMs, '1 hour'),
    processedMs: processed === false ? null : within('processed', processed, dayMs, '1 day'),
  };
}

function within(option: string, duration: Duration, leastMs: number, least: string): number {
  const value = durationMs(duration);
  if (value === undefined || value < leastMs || value > longestDurationMs)
    throw invalid(option, `is not a duration from ${least} to 36,500 days`);
  return Math.round(value);
}

function invalid(option: string, why: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option "retention.${option}" ${why}.`, {
    details: { option: `retention.${option}` },
  });
}
