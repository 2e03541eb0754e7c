import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type Duration, durationMs, longestDurationMs } from './duration.ts';
import { OutboxError } from './errors.ts';
import { maxLanes } from './lane.ts';
import { isObject } from './options/collections.ts';
import { resolveVersion, type VersionOptions, type VersionRules } from './topic-version.ts';

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

/** The contract of a topic. */
export interface TopicOptions extends VersionOptions {
  /** Name of a transport of the configuration. @defaultValue the only one, else `kafka` */
  readonly transport?: string;
  /** Where the transport sends it: Kafka topic, exchange, URL. @defaultValue the topic's name */
  readonly address?: string;
  /** Delays before the second, third, … try; when they are used up the message is failed. @defaultValue 10, 30, 60, 120, 300 s */
  readonly retry?: Retry;
  /** Whether the later messages of a failed one's key go on or wait. @defaultValue `'release-key'`: they go on */
  readonly exhausted?: 'release-key' | 'hold-key';
  /** Ordered shares that are delivered concurrently, 1 to 1024; set at the first start, changed by an operation. @defaultValue 1 */
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

/** A topic with its options resolved. Durations are milliseconds. */
export interface TopicRules extends VersionRules {
  /** `undefined`: the only one, else `kafka`. */
  readonly transport: string | undefined;
  /** Where the transport sends it. */
  readonly address: string;
  /** Delays before the second, third, … try of a delivery. */
  readonly retryMs: readonly number[];
  /** Whether the later messages of a failed one's key go on or wait. */
  readonly exhausted: 'release-key' | 'hold-key';
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

const defaults = {
  retry: ['10s', '30s', '60s', '120s', '300s'],
  exhausted: 'release-key',
  lanes: 1,
  timer: 'workflow',
  horizon: '24h',
  visible: true,
  payloadBytes: 900 * 1024,
  delay: '400 days',
} as const;

const optionNames = new Set([
  'transport',
  'address',
  'version',
  'upcast',
  'retry',
  'exhausted',
  'lanes',
  'timer',
  'horizon',
  'visible',
  'confirm',
  'limits',
]);

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
  if (!isStandardSchema(schema))
    throw invalid(
      name,
      'schema',
      'is not a Standard Schema, as zod from 3.24, valibot and arktype make them',
    );
  const unknown = Object.keys(options).find((option) => !optionNames.has(option));
  if (unknown !== undefined) throw invalid(name, unknown, 'is not an option of a topic');
  return { name, schema, rules: resolveRules(name, options) };
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

function resolveRules(name: string, options: TopicOptions): TopicRules {
  const lanes = options.lanes ?? defaults.lanes;
  if (!Number.isInteger(lanes) || lanes < 1 || lanes > maxLanes)
    throw invalid(name, 'lanes', `is not an integer from 1 to ${maxLanes}`);
  assertNames(name, 'limits', options.limits, ['payloadBytes', 'delay']);
  assertNames(name, 'confirm', options.confirm, ['group', 'receiptTimeout', 'maxSends']);
  const payloadLimitBytes = options.limits?.payloadBytes ?? defaults.payloadBytes;
  if (!Number.isInteger(payloadLimitBytes) || payloadLimitBytes < 1 || payloadLimitBytes > 64 * 1024 * 1024) {
    throw invalid(name, 'limits.payloadBytes', 'is not an integer from 1 to 67,108,864');
  }
  return {
    transport: options.transport,
    address: options.address ?? name,
    ...resolveVersion(options, (option, why) => invalid(name, option, why)),
    retryMs: retryOf(options.retry ?? defaults.retry).map((delay, index) =>
      positive(name, `retry[${index}]`, delay),
    ),
    exhausted: oneOf(name, 'exhausted', options.exhausted ?? defaults.exhausted, ['release-key', 'hold-key']),
    lanes,
    timer: oneOf(name, 'timer', options.timer ?? defaults.timer, ['workflow', 'lane']),
    horizonMs: positive(name, 'horizon', options.horizon ?? defaults.horizon),
    visible: options.visible ?? defaults.visible,
    confirm: options.confirm === undefined ? undefined : confirmOf(name, options.confirm),
    payloadLimitBytes,
    delayLimitMs: positive(name, 'limits.delay', options.limits?.delay ?? defaults.delay),
  };
}

/** A misspelt option would have no effect. */
function assertNames(name: string, option: string, given: unknown, known: readonly string[]): void {
  if (given === undefined) return;
  if (typeof given !== 'object' || given === null) throw invalid(name, option, 'is not an object');
  const unknown = Object.keys(given).find((each) => !known.includes(each));
  if (unknown !== undefined) throw invalid(name, `${option}.${unknown}`, 'is not an option of a topic');
}

function retryOf(retry: Retry): readonly Duration[] {
  if (typeof retry !== 'function') return retry;
  const delays: Duration[] = [];
  while (delays.length < maxTries) {
    const delay = retry(delays.length + 1);
    if (delay === undefined) break;
    delays.push(delay);
  }
  return delays;
}

function confirmOf(name: string, { group, receiptTimeout, maxSends = 3 }: Confirm): ConfirmRules {
  if (typeof group !== 'string' || group === '' || Buffer.byteLength(group) > 512 || group.includes('\0'))
    throw invalid(name, 'confirm.group', 'is not a string of 1 to 512 bytes without NUL');
  if (!Number.isInteger(maxSends) || maxSends < 1 || maxSends > maxTries)
    throw invalid(name, 'confirm.maxSends', `is not an integer from 1 to ${maxTries}`);
  const option = 'confirm.receiptTimeout';
  if (typeof receiptTimeout !== 'object')
    return { group, maxSends, receiptTimeoutMs: [positive(name, option, receiptTimeout)] };
  if (receiptTimeout.length < 1) throw invalid(name, option, 'is empty');
  const times = receiptTimeout.map((time, index) => positive(name, `${option}[${index}]`, time));
  return { group, maxSends, receiptTimeoutMs: times };
}

/** Maximum number of tries, and of sends. */
const maxTries = 100;

function positive(name: string, option: string, duration: Duration): number {
  const value = durationMs(duration);
  if (value === undefined || value <= 0 || value > longestDurationMs)
    throw invalid(name, option, 'is not a duration of more than 0 and at most 36,500 days');
  return Math.round(value);
}

function oneOf<Value extends string>(
  name: string,
  option: string,
  value: Value,
  allowed: readonly Value[],
): Value {
  if (!allowed.includes(value)) throw invalid(name, option, `is not one of ${allowed.join(', ')}`);
  return value;
}

function invalid(name: string, option: string, why: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option "${option}" of the topic "${name}" ${why}.`, {
    details: { topic: name, option },
  });
}
