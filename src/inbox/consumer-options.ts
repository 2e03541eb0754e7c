import type { SeenFilter } from '../brokers/seen-filter.ts';
import type { Duration } from '../core/duration.ts';
import { object, type Table } from '../core/options/collections.ts';
import { name } from '../core/options/name.ts';
import { optionTable } from '../core/options/option-table.ts';
import {
  defaulted,
  duration,
  either,
  flag,
  func,
  oneOf,
  optional,
  unchecked,
  whole,
} from '../core/options/values.ts';
import type { TryRules } from '../store/inbox/tries.ts';
import type { ConsumerReport } from './consumer-event.ts';
import type { BreakerRules } from './handling/breaker.ts';
import { quickRetryDelays, retryDelays } from './retry-delays.ts';
import type { UnknownTopics } from './route-table.ts';
import type { Window } from './window/window.ts';

/** How many messages a transaction takes. */
export interface Batch {
  /** At most so many, 1 to 10,000. */
  readonly size: number;
  /**
   * How long a message waits until there are `size`, at most a minute: then the transaction takes those that there are. A full batch
   * is noticed within a quarter of this time, or 0.1 s. Messages that wait are not in hand: whoever gets the partition next handles
   * them, and a stop does not wait for them. Where a source can hold no more at once, as Kafka's answers of about 1 MiB, a batch
   * is what it holds. Messages of Redis streams do not wait: new ones are read only when none is open.
   * @defaultValue none: as many as have been fetched
   */
  readonly wait?: Duration;
}

/** How a consumer works. */
export interface ConsumerSettings {
  /**
   * Name of the consumer group, 1 to 512 bytes. A message is handled once per group; consumers of one group share the
   * work. It is also the broker's consumer group.
   */
  readonly group: string;
  /**
   * Handles many messages of a partition in one transaction. If it fails, each of them gets its own transaction.
   * @defaultValue none: a transaction per message
   */
  readonly batch?: Batch;
  /**
   * Partitions that are handled concurrently, 1 to 256. Each uses a database connection per message in hand.
   * @defaultValue 4
   */
  readonly concurrency?: number;
  /**
   * Messages of different keys of one partition that are handled concurrently, 1 to 256. A key keeps its order, messages
   * without a key have none; 1 keeps the order of the whole partition. No effect on batches. @defaultValue 2
   */
  readonly keyConcurrency?: number;
  /**
   * Pauses before a failed message is tried again in place, at most 100 of 0 to 10 s each. After the last one it is parked:
   * kept in the database, and tried again later, while messages of other keys go on. A handler may have its own.
   * @defaultValue `[100, 500]` ms
   */
  readonly quickRetries?: readonly Duration[];
  /**
   * Delays before a parked message is tried again, at most 100 of 0 to 36,500 days each; when they are used up it is failed.
   * A handler may have its own. @defaultValue 10, 30, 60, 120, 300 s
   */
  readonly retry?: readonly Duration[];
  /** What a failed message does to the later ones of its key. @defaultValue `'release-key'`, they go on */
  readonly exhausted?: 'release-key' | 'block-key';
  /**
   * A message is failed after this many deaths of a consumer that had it in hand, 1 to 100, whether it has just arrived or
   * is parked. Deaths by other causes count, too. Of messages that were in hand together with one that kills, only the first
   * death counts. @defaultValue 3
   */
  readonly maxKills?: number;
  /**
   * Messages that may be queued behind one parked key, 1 to 10,000,000, plus those that are in hand when the limit is
   * reached. Then the partition of the key waits, reported as `partition-paused` with `OUTBOX_QUEUE_FULL`, until the queue
   * is shorter.
   * @defaultValue 100,000
   */
  readonly maxQueued?: number;
  /** Parked keys that this consumer drains concurrently, 1 to 256. @defaultValue 4 */
  readonly parkedConcurrency?: number;
  /**
   * Pauses an address when most of its keys fail, as they do when a dependency of its handlers is down: nothing is parked
   * and no try counts, until a probe, a single message, succeeds. `keys`: how many different keys must have failed, 1 to
   * 1,000, and more than half of the last four times as many; `longestPause`: the longest time between two probes, which
   * starts at 1 s. `false`: never. @defaultValue `{ keys: 5, longestPause: '30s' }`
   */
  readonly breaker?: false | { readonly keys?: number; readonly longestPause?: Duration };
  /**
   * Sends a copy of every failed message to `<address>.dead`, or to the address that the function returns. The message
   * itself stays in the database. @defaultValue false
   */
  readonly deadLetters?: boolean | ((address: string) => string);
  /**
   * How long processed ids are kept, at least 1 hour: a message that is delivered again after that time is handled again.
   * The start is refused if the broker may deliver a message that late. @defaultValue 30 days
   */
  readonly window?: Window;
  /**
   * What happens to a message whose topic is not in the configuration, or that names no topic although several use its
   * address. `'keep'`: it is failed, and kept for a person. `'ignore'`: it is skipped for good; for addresses that other
   * senders use, too. @defaultValue `'keep'`: it may be of a topic that a newer sender knows
   */
  readonly unknown?: UnknownTopics;
  /**
   * How long failed messages of the group are kept after their last change, 1 hour to 36,500 days; then they are deleted and
   * will never be handled. Messages that block their key stay, and with `deadLetters` those without a copy.
   * @defaultValue `'forever'`
   */
  readonly keepFailed?: Window;
  /** Recognizes most duplicates without the database. It is closed with the consumer. @defaultValue none */
  readonly filter?: SeenFilter;
  /**
   * Where a new group begins: `true` with the oldest message that the broker holds, `false` with messages that arrive after
   * the first join. @defaultValue true, so that no message is missed
   */
  readonly fromBeginning?: boolean;
  /** How long one transaction may take, at most 1 day, passed to `$transaction`. @defaultValue Prisma's own: 5 s */
  readonly transactionTimeout?: Duration;
  /** How long `start()` waits for the database, and for each broker. @defaultValue as long as it takes, as relays do */
  readonly startTimeout?: Duration;
  /** Called with each event of the consumer; nothing depends on it, and what it throws is dropped. @defaultValue none */
  readonly report?: ConsumerReport;
}

/** Settings with every default filled in. */
export interface ConsumerRules {
  readonly group: string;
  readonly batchSize: number | undefined;
  /** `undefined`: a batch takes what has been fetched. */
  readonly batchWaitMs: number | undefined;
  readonly concurrency: number;
  readonly keyConcurrency: number;
  readonly quickRetriesMs: readonly number[];
  readonly tries: TryRules;
  readonly maxQueued: number;
  readonly parkedConcurrency: number;
  /** `undefined`: no breaker. */
  readonly breaker: BreakerRules | undefined;
  /** Where copies of failed messages go; `undefined`: nowhere. */
  readonly deadAddressOf: ((address: string) => string) | undefined;
  /** `Infinity`: forever. */
  readonly windowMs: number;
  readonly unknown: UnknownTopics;
  /** `Infinity`: forever. */
  readonly failedMs: number;
  readonly fromBeginning: boolean;
  readonly transactionTimeoutMs: number | undefined;
  /** `Infinity`: as long as it takes. */
  readonly startTimeoutMs: number;
}

const breaker = object({
  keys: whole(1, 1_000, 5),
  longestPause: duration(1, undefined, '30s'),
});

/** Servers and clients count the milliseconds of a transaction in 32 bits. */
export const longestTransactionMs = 24 * 3_600_000;

const consumerOptions = optionTable('consumer()', {
  group: name(),
  batch: optional(
    object({ size: whole(1, 10_000), wait: optional(duration(1, '1 minute')) } satisfies Table<Batch>),
  ),
  concurrency: whole(1, 256, 4),
  keyConcurrency: whole(1, 256, 2),
  quickRetries: optional(quickRetryDelays),
  retry: optional(retryDelays),
  exhausted: oneOf(['release-key', 'block-key'], 'release-key'),
  maxKills: whole(1, 100, 3),
  maxQueued: whole(1, 10_000_000, 100_000),
  parkedConcurrency: whole(1, 256, 4),
  breaker: either([false], defaulted(breaker)),
  deadLetters: either([true, false], func<(address: string) => string>(), false),
  window: either(['forever'], duration('1 hour', undefined, '30 days')),
  unknown: oneOf(['keep', 'ignore'], 'keep'),
  keepFailed: either(['forever'], duration('1 hour'), 'forever'),
  filter: unchecked,
  fromBeginning: flag(true),
  transactionTimeout: optional(duration(1, longestTransactionMs)),
  startTimeout: optional(duration(1)),
  report: optional(func<ConsumerReport>()),
} satisfies Table<ConsumerSettings>);

const defaultQuickRetriesMs = [100, 500];
const defaultRetryMs = [10_000, 30_000, 60_000, 120_000, 300_000];

/** @throws OutboxError `OUTBOX_OPTION_INVALID` naming the option */
export function resolveConsumerRules(settings: ConsumerSettings): ConsumerRules {
  const read = consumerOptions.read(settings);
  return {
    group: read.group,
    batchSize: read.batch?.size,
    batchWaitMs: read.batch?.wait,
    concurrency: read.concurrency,
    keyConcurrency: read.batch === undefined ? read.keyConcurrency : 1,
    quickRetriesMs: read.quickRetries ?? defaultQuickRetriesMs,
    tries: {
      retryMs: read.retry ?? defaultRetryMs,
      blockKey: read.exhausted === 'block-key',
      maxKills: read.maxKills,
    },
    maxQueued: read.maxQueued,
    parkedConcurrency: read.parkedConcurrency,
    breaker:
      read.breaker === false
        ? undefined
        : { keys: read.breaker.keys, longestPauseMs: read.breaker.longestPause },
    deadAddressOf: deadAddressOf(read.deadLetters),
    windowMs: endless(read.window),
    unknown: read.unknown,
    failedMs: endless(read.keepFailed),
    fromBeginning: read.fromBeginning,
    transactionTimeoutMs: read.transactionTimeout,
    startTimeoutMs: read.startTimeout ?? Infinity,
  };
}

function deadAddressOf(given: boolean | ((address: string) => string)): ConsumerRules['deadAddressOf'] {
  if (typeof given === 'function') return given;
  return given ? (address) => `${address}.dead` : undefined;
}

const endless = (time: number | 'forever'): number => (time === 'forever' ? Infinity : time);
