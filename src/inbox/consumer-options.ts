import type { SeenFilter } from '../brokers/seen-filter.ts';
import { type Duration, durationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { name } from '../core/options/name.ts';
import { assertOptions, optionTable } from '../core/options/option-table.ts';
import type { TryRules } from '../store/inbox/tries.ts';
import type { ConsumerReport } from './consumer-event.ts';
import type { BreakerRules } from './handling/breaker.ts';
import { quickRetryDelays, retryDelays } from './retry-delays.ts';
import type { UnknownTopics } from './route-table.ts';
import { resolveWindow, type Window } from './window/window.ts';

/** How a consumer works. */
export interface ConsumerSettings {
  /**
   * Name of the consumer group, 1 to 512 bytes. A message is handled once per group; consumers of one group share the
   * work. It is also the broker's consumer group.
   */
  readonly group: string;
  /**
   * Handles up to `size` messages, 1 to 10,000, in one transaction, as many as have been fetched. If it fails, each of them
   * gets its own transaction. @defaultValue none: a transaction per message
   */
  readonly batch?: { readonly size: number };
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
  readonly exhausted?: 'release-key' | 'hold-key';
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
   * will never be handled. Messages that hold their key stay, and with `deadLetters` those without a copy.
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
  /** How long one transaction may take, passed to `$transaction`. @defaultValue Prisma's own: 5 s */
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
  /** `Infinity`: for ever. */
  readonly windowMs: number;
  readonly unknown: UnknownTopics;
  /** `Infinity`: for ever. */
  readonly failedMs: number;
  readonly fromBeginning: boolean;
  readonly transactionTimeoutMs: number | undefined;
  /** `Infinity`: as long as it takes. */
  readonly startTimeoutMs: number;
}

const defaults = {
  quickRetries: [100, 500],
  retry: ['10s', '30s', '60s', '120s', '300s'],
  concurrency: 4,
  keyConcurrency: 2,
  maxKills: 3,
  maxQueued: 100_000,
  parkedConcurrency: 4,
  breaker: { keys: 5, longestPause: '30s' },
} as const;

const optionNames: ReadonlySet<string> = new Set<keyof ConsumerSettings>([
  'group',
  'batch',
  'concurrency',
  'keyConcurrency',
  'quickRetries',
  'retry',
  'exhausted',
  'maxKills',
  'maxQueued',
  'parkedConcurrency',
  'breaker',
  'deadLetters',
  'window',
  'unknown',
  'keepFailed',
  'filter',
  'fromBeginning',
  'transactionTimeout',
  'startTimeout',
  'report',
]);

/** @throws OutboxError `OUTBOX_OPTION_INVALID` naming the option */
export function resolveConsumerRules(settings: ConsumerSettings): ConsumerRules {
  const unknown = Object.keys(settings).find((option) => !optionNames.has(option));
  if (unknown !== undefined) throw invalid(unknown, 'a known option');
  optionTable('the consumer', { group: name() }).read({ group: settings.group });
  const { batch, deadLetters = false, exhausted = 'release-key', transactionTimeout } = settings;
  if (exhausted !== 'release-key' && exhausted !== 'hold-key')
    throw invalid('exhausted', "'release-key' or 'hold-key'");
  if (typeof deadLetters !== 'boolean' && typeof deadLetters !== 'function')
    throw invalid('deadLetters', 'a boolean or a function of the address');
  const keyConcurrency = integer('keyConcurrency', settings.keyConcurrency ?? defaults.keyConcurrency, 256);
  return {
    group: settings.group,
    batchSize: batchSize(batch),
    concurrency: integer('concurrency', settings.concurrency ?? defaults.concurrency, 256),
    keyConcurrency: batch === undefined ? keyConcurrency : 1,
    quickRetriesMs: quickRetryDelays(settings.quickRetries ?? defaults.quickRetries, invalid),
    tries: {
      retryMs: retryDelays(settings.retry ?? defaults.retry, invalid),
      holdKey: exhausted === 'hold-key',
      maxKills: integer('maxKills', settings.maxKills ?? defaults.maxKills, 100),
    },
    maxQueued: integer('maxQueued', settings.maxQueued ?? defaults.maxQueued, 10_000_000),
    parkedConcurrency: integer(
      'parkedConcurrency',
      settings.parkedConcurrency ?? defaults.parkedConcurrency,
      256,
    ),
    breaker: breakerRules(settings.breaker),
    deadAddressOf: deadAddressOf(deadLetters),
    windowMs: resolveWindow(settings.window),
    unknown: unknownTopics(settings.unknown),
    failedMs: keepFailedMs(settings.keepFailed),
    fromBeginning: settings.fromBeginning ?? true,
    transactionTimeoutMs:
      transactionTimeout === undefined ? undefined : positive('transactionTimeout', transactionTimeout),
    startTimeoutMs:
      settings.startTimeout === undefined ? Infinity : positive('startTimeout', settings.startTimeout),
  };
}

function batchSize(batch: ConsumerSettings['batch']): number | undefined {
  if (batch === undefined) return undefined;
  assertOptions('batch of the consumer', batch, ['size']);
  return integer('batch.size', batch.size, 10_000);
}

function unknownTopics(given: UnknownTopics = 'keep'): UnknownTopics {
  if (given === 'keep' || given === 'ignore') return given;
  throw invalid('unknown', "'keep' or 'ignore'");
}

function keepFailedMs(given: Window = 'forever'): number {
  return resolveWindow(given, 'keepFailed');
}

function breakerRules(given: ConsumerSettings['breaker'] = {}): BreakerRules | undefined {
  if (given === false) return undefined;
  const { keys = defaults.breaker.keys, longestPause = defaults.breaker.longestPause, ...others } = given;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw invalid(`breaker.${unknown}`, 'a known option');
  return {
    keys: integer('breaker.keys', keys, 1_000),
    longestPauseMs: positive('breaker.longestPause', longestPause),
  };
}

function deadAddressOf(given: boolean | ((address: string) => string)): ConsumerRules['deadAddressOf'] {
  if (typeof given === 'function') return given;
  return given ? (address) => `${address}.dead` : undefined;
}

function integer(option: string, value: number, most: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw invalid(option, `an integer from 1 to ${most}`);
}

function positive(option: string, duration: Duration): number {
  const value = durationMs(duration);
  if (value === undefined || value <= 0) throw invalid(option, 'a positive duration');
  return Math.round(value);
}

function invalid(option: string, wanted: string): OutboxError {
  return new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `The option "${option}" of the consumer is not ${wanted}.`,
    {
      details: { option },
    },
  );
}
