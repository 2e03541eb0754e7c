import { type Duration, durationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import type { ConsumerReport } from './consumer-event.ts';
import { assertName } from './once.ts';

/** How a consumer works. */
export interface ConsumerSettings {
  /**
   * Name of the consumer group, 1 to 512 bytes. A message is handled once per group; consumers of one group share the
   * work. It is the group of the broker, too.
   */
  readonly group: string;
  /**
   * Pauses before a failed message is tried again in place, at most 10 s each. Meanwhile its partition waits, and
   * others may. After the last one the partition rests for 1 s, doubling to 30 s, between single tries, and the others
   * go on. @defaultValue `[100, 500, 2000]` ms
   */
  readonly quickRetries?: readonly Duration[];
  /**
   * Partitions that are handled side by side, 1 to 256. Each uses one connection of the database while it is.
   * @defaultValue 4
   */
  readonly concurrency?: number;
  /**
   * Where a group that was never seen begins: `true` with the oldest message that the broker holds, `false` with what
   * arrives after the first join. @defaultValue true, so that no message is missed
   */
  readonly fromBeginning?: boolean;
  /** How long one message's transaction may take, passed on to `$transaction`. @defaultValue Prisma's own: 5 s */
  readonly transactionTimeout?: Duration;
  /** How long `start()` tries to reach the broker. @defaultValue 60 s */
  readonly startWithin?: Duration;
  /** Called with what the consumer does; nothing depends on it. */
  readonly report?: ConsumerReport;
}

/** Settings with every default filled in. */
export interface ConsumerRules {
  readonly group: string;
  readonly quickRetriesMs: readonly number[];
  readonly concurrency: number;
  readonly fromBeginning: boolean;
  readonly transactionTimeoutMs: number | undefined;
  readonly startWithinMs: number;
}

const longestQuickRetryMs = 10_000;
const mostConcurrency = 256;
const defaults = { quickRetries: [100, 500, 2_000], concurrency: 4, startWithin: '60s' } as const;

/** @throws OutboxError `OUTBOX_INVALID_OPTION` naming the option */
export function resolveConsumerRules(settings: ConsumerSettings): ConsumerRules {
  assertName('group', settings.group);
  const concurrency = settings.concurrency ?? defaults.concurrency;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > mostConcurrency) {
    throw invalid('concurrency', `an integer from 1 to ${mostConcurrency}`);
  }
  const quickRetriesMs = (settings.quickRetries ?? defaults.quickRetries).map((pause, index) => {
    const pauseMs = durationMs(pause);
    if (pauseMs !== undefined && pauseMs >= 0 && pauseMs <= longestQuickRetryMs) return pauseMs;
    throw invalid(`quickRetries[${index}]`, 'a duration from 0 to 10 s');
  });
  return {
    group: settings.group,
    quickRetriesMs,
    concurrency,
    fromBeginning: settings.fromBeginning ?? true,
    transactionTimeoutMs:
      settings.transactionTimeout === undefined
        ? undefined
        : positive('transactionTimeout', settings.transactionTimeout),
    startWithinMs: positive('startWithin', settings.startWithin ?? defaults.startWithin),
  };
}

function positive(option: string, duration: Duration): number {
  const value = durationMs(duration);
  if (value === undefined || value <= 0) throw invalid(option, 'a positive duration');
  return Math.round(value);
}

function invalid(option: string, wanted: string): OutboxError {
  return new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The option "${option}" of the consumer is not ${wanted}.`,
    {
      details: { option },
    },
  );
}
