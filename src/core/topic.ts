import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Duration } from './duration.ts';
import { OutboxError } from './errors.ts';
import { maxLanes } from './lane.ts';
import { isObject, listOf, object, type Table } from './options/collections.ts';
import { name as groupName } from './options/name.ts';
import { optionTable } from './options/option-table.ts';
import type { Reader } from './options/reader.ts';
import { defaulted, duration, flag, oneOf, optional, text, whole } from './options/values.ts';
import { resolveVersion, type VersionOptions, type VersionRules, versionOptions } from './topic-version.ts';

/** Bounds of one message; each is refused with a typed error before anything is written. */
export interface TopicLimits {
  /** Bytes of the serialised payload. @defaultValue 921,600 (900 KiB), under Kafka's default of 1,048,588 per batch */
  readonly payloadBytes?: number;
  /** Longest delay of a message, up to 36,500 days. @defaultValue `'400 days'` */
  readonly delay?: Duration;
}

/**
 * Delays before the second, third, … try: a list, or a function of the number of tries so far (1, 2, …) that returns
 * `undefined` to fail the message. The function is evaluated once, when the topic is defined, for at most 100 tries: the
 * delays are part of the contract, and the same for every relay.
 */
export type Retry = readonly Duration[] | ((tries: number) => Duration | undefined);

/** How a topic has its messages confirmed by its consumer. */
export interface Confirm {
  /** The consumer group whose receipts count. */
  readonly group: string;
  /**
   * How long a receipt may take after a send, including the consumer's backlog, before it is overdue: one duration for all
   * sends, or one each for the first, the second, …, of which the last applies to all further ones. More than 0 and at most
   * 36,500 days.
   */
  readonly receiptTimeout: Duration | readonly [Duration, ...Duration[]];
  /** How often a message is sent before it is failed, 1 to 100. @defaultValue 3 */
  readonly maxSends?: number;
}

/**
 * How fast relays send, over all relays and lanes together: in any time of the length `per` they hand at most `messages` to the
 * transport. A receiver may see as many more in such a time as were still on their way, at most one batch of each lane. After a
 * failover of PostgreSQL that loses commits, as many more as it lost.
 *
 * A message that waits for the rate has no attempt spent and keeps its place. Every try of a message counts.
 */
export interface Rate {
  /** 1 to 1,000,000. */
  readonly messages: number;
  /** 100 ms to 31 days. A longer one than before counts only what is sent from the change on. */
  readonly per: Duration;
  /**
   * What is counted: messages of this topic, or of all topics with the same transport and address whose rate is also one of the
   * `'address'`. Topics of an address should have the same rate: each waits until its own has room. @defaultValue `'topic'`
   */
  readonly of?: 'topic' | 'address';
}

/** The contract of a topic. */
export interface TopicOptions extends VersionOptions {
  /** Name of a transport of the configuration. @defaultValue the only one, else `kafka` */
  readonly transport?: string;
  /** Where the transport sends it: Kafka topic, exchange, URL. @defaultValue the topic's name */
  readonly address?: string;
  /** Delays before the second, third, … try; when they are used up the message is failed. @defaultValue 10, 30, 60, 120, 300 s */
  readonly retry?: Retry;
  /** Whether the later messages of a failed one's key go on or wait. @defaultValue `'release-key'`: they go on */
  readonly exhausted?: 'release-key' | 'block-key';
  /** Ordered parts that are delivered concurrently, 1 to 1024; set at the first start, changed by an operation. @defaultValue 1 */
  readonly lanes?: number;
  /**
   * What waits until a message is due. `'workflow'`: a workflow per message, visible in the Temporal UI. `'lane'`: only the
   * relay, for thousands that are due at the same time. @defaultValue `'workflow'`
   */
  readonly timer?: 'workflow' | 'lane';
  /** A waiting message gets its workflow when it is due within this time; before, only its row waits. @defaultValue 24 h */
  readonly horizon?: Duration;
  /** Whether the Temporal UI may show keys and refs. @defaultValue true */
  readonly visible?: boolean;
  /**
   * Asks for a receipt of every message. A message whose receipt is overdue is sent again, but only after the group has passed
   * it: while the group has not reached it, the message waits. @defaultValue none
   */
  readonly confirm?: Confirm;
  /**
   * How fast relays send its messages. The relay that was started last decides, or `migrate --topics`; running ones follow with their
   * next batch. @defaultValue as fast as the transport takes them
   */
  readonly rate?: Rate;
  /** Bounds of one message. @defaultValue see {@link TopicLimits} */
  readonly limits?: TopicLimits;
}

/** Confirmation with every default filled in. */
export interface ConfirmRules {
  /** The consumer group whose receipts count. */
  readonly group: string;
  /** How often a message is sent before it is failed, 1 to 100. */
  readonly maxSends: number;
  /** Time for the receipt after the first, second, … send; the last value applies to all further ones. */
  readonly receiptTimeoutMs: readonly number[];
}

/** A rate with every default filled in. */
export interface RateRules {
  /** The most messages in a time of the length `perMs`. */
  readonly messages: number;
  /** That length. */
  readonly perMs: number;
  /** Whether the topic or its address is counted. */
  readonly of: 'topic' | 'address';
}

/** A topic with its options resolved. Durations are milliseconds. */
export interface TopicRules extends VersionRules {
  /** `undefined`: the only one, else `kafka`. */
  readonly transport: string | undefined;
  /** Where the transport sends it. */
  readonly address: string;
  /** Delays before the second, third, … try of a delivery. */
  readonly retryMs: readonly number[];
  /** Whether the later messages of a failed one's key go on or wait. */
  readonly exhausted: 'release-key' | 'block-key';
  /** Number of lanes that the first start sets. */
  readonly lanes: number;
  /** What waits for the due time. */
  readonly timer: 'workflow' | 'lane';
  /** A waiting message gets its workflow when it is due within this time. */
  readonly horizonMs: number;
  /** Whether the Temporal UI may show keys and refs. */
  readonly visible: boolean;
  /** `undefined`: no receipts. */
  readonly confirm: ConfirmRules | undefined;
  /** `undefined`: as fast as the transport takes them. */
  readonly rate: RateRules | undefined;
  /** Maximum size of a serialised payload, in bytes. */
  readonly payloadLimitBytes: number;
  /** Longest delay of a message. */
  readonly delayLimitMs: number;
}

/**
 * A named contract between a sender and its consumers.
 *
 * `Input` is what `send` takes, `Output` what a handler of the consumer receives: both sides validate the JSON with the schema,
 * so defaults and transformations are applied once, at the consumer. The schema describes the current version of the payload;
 * the consumer first converts older ones with the topic's upcasters.
 */
export interface Topic<Input = unknown, Output = Input> {
  /** Its name in rows, headers and commands. */
  readonly name: string;
  /** Validates the JSON, not the object in memory. */
  readonly schema: StandardSchemaV1<Input, Output>;
  /** Its options, with every default filled in. */
  readonly rules: TopicRules;
}

const delays = listOf(duration(1), 'a list of durations, or a function that returns them in turn');
const retry: Reader<readonly number[]> = {
  wanted: delays.wanted,
  read: (given, option) => delays.read(isRetry(given) ? askedInTurn(given) : given, option),
};

const receiptTimeouts = listOf(duration(1), 'a duration, or a list of at least one', { least: 1 });
const receiptTimeout: Reader<readonly number[]> = {
  wanted: receiptTimeouts.wanted,
  read: (given, option) =>
    Array.isArray(given) ? receiptTimeouts.read(given, option) : [duration(1).read(given, option)],
};

const topicOptions = {
  transport: optional(text()),
  address: optional(text()),
  ...versionOptions,
  retry: optional(retry),
  exhausted: oneOf(['release-key', 'block-key'], 'release-key'),
  lanes: whole(1, maxLanes, 1),
  timer: oneOf(['workflow', 'lane'], 'workflow'),
  horizon: duration(1, undefined, '24h'),
  visible: flag(true),
  confirm: optional(
    object({ group: groupName(), receiptTimeout, maxSends: whole(1, 100, 3) } satisfies Table<Confirm>),
  ),
  rate: optional(
    object({
      messages: whole(1, 1_000_000),
      per: duration('100ms', '31 days'),
      of: oneOf(['topic', 'address'], 'topic'),
    } satisfies Table<Rate>),
  ),
  limits: defaulted(
    object({
      payloadBytes: whole(1, 64 * 1_024 * 1_024, 900 * 1_024),
      delay: duration(1, undefined, '400 days'),
    } satisfies Table<TopicLimits>),
  ),
} satisfies Table<TopicOptions>;

const defaultRetryMs = [10_000, 30_000, 60_000, 120_000, 300_000];

/**
 * Defines a topic.
 *
 * @param name 1 to 200 characters of letters, digits, dot, underscore and hyphen
 * @param schema any Standard Schema (zod, valibot, arktype, …) of the payload
 * @throws OutboxError `OUTBOX_TOPIC_INVALID`, or `OUTBOX_OPTION_INVALID` naming the option
 */
export function topic<Input, Output>(
  name: string,
  schema: StandardSchemaV1<Input, Output>,
  options: TopicOptions = {},
): Topic<Input, Output> {
  if (!/^[A-Za-z0-9._-]{1,200}$/.test(name)) {
    throw new OutboxError('OUTBOX_TOPIC_INVALID', `"${name}" is not a valid topic name.`, {
      details: { name },
    });
  }
  const table = optionTable(`the topic "${name}"`, topicOptions, { topic: name });
  if (!isStandardSchema(schema))
    throw table.invalid(
      'schema',
      'must be a Standard Schema, as zod from 3.24, valibot and arktype make them',
    );
  const {
    address,
    confirm,
    horizon,
    limits,
    rate,
    retry: retryMs,
    upcast,
    version,
    ...rules
  } = table.read(options);
  return {
    name,
    schema,
    rules: {
      ...rules,
      ...resolveVersion(version, upcast, table.invalid),
      address: address ?? name,
      retryMs: retryMs ?? defaultRetryMs,
      horizonMs: horizon,
      confirm: confirm && {
        group: confirm.group,
        maxSends: confirm.maxSends,
        receiptTimeoutMs: confirm.receiptTimeout,
      },
      rate: rate && { messages: rate.messages, perMs: rate.per, of: rate.of },
      payloadLimitBytes: limits.payloadBytes,
      delayLimitMs: limits.delay,
    },
  };
}

/** A schema may be a function. */
function isStandardSchema(given: unknown): boolean {
  if (typeof given !== 'function' && !isObject(given)) return false;
  const standard: unknown = Reflect.get(given, '~standard');
  return isObject(standard) && typeof Reflect.get(standard, 'validate') === 'function';
}

/** Whether it was made by {@link topic}. */
export function isTopic(given: unknown): given is Topic {
  return isObject(given) && 'name' in given && 'schema' in given && 'rules' in given;
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` unless `caller` was given what {@link topic} makes */
export function assertTopic(caller: string, given: unknown): void {
  if (isTopic(given)) return;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `The topic of ${caller} is not one that topic() has made${typeof given === 'string' ? ', but a name' : ''}.`,
    { details: { option: 'topic' } },
  );
}

/** Maximum number of tries by a function. */
const maxTries = 100;

function askedInTurn(given: Exclude<Retry, readonly Duration[]>): readonly Duration[] {
  const asked: Duration[] = [];
  while (asked.length < maxTries) {
    const delay = given(asked.length + 1);
    if (delay === undefined) break;
    asked.push(delay);
  }
  return asked;
}

function isRetry(given: unknown): given is Exclude<Retry, readonly Duration[]> {
  return typeof given === 'function';
}
