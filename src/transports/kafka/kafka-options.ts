import type { ConnectionOptions } from 'node:tls';
import type { KafkaConfig, logCreator } from 'kafkajs';
import { OutboxError } from '../../core/errors.ts';

/** How to reach Kafka, and how long to wait for it. */
export interface KafkaOptions {
  /** `host:port`, several of them separated by commas or as a list. One that answers is enough. */
  readonly brokers: string | readonly string[];
  /** The name that brokers see in quotas and logs. @defaultValue `temporal-outbox` */
  readonly clientId?: string;
  /** TLS: `true` for the system's certificates, or options of `tls.connect`. @defaultValue no TLS */
  readonly ssl?: boolean | ConnectionOptions;
  /** Credentials, in the form that kafkajs takes. @defaultValue none */
  readonly sasl?: NonNullable<KafkaConfig['sasl']>;
  /**
   * Milliseconds that a broker may take to answer, 100 to 120,000. What has not been answered by then counts as maybe
   * stored. Longer times keep a lane waiting on a stalled broker. @defaultValue 5000
   */
  readonly requestTimeout?: number;
  /** Receives the client's own log, warnings and above. @defaultValue nothing is logged */
  readonly logger?: logCreator;
}

/** Options with every default filled in. */
export interface KafkaSettings {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl: boolean | ConnectionOptions;
  readonly sasl: NonNullable<KafkaConfig['sasl']> | undefined;
  readonly requestTimeoutMs: number;
  readonly logger: logCreator | undefined;
}

const optionNames: ReadonlySet<string> = new Set<keyof KafkaOptions>([
  'brokers',
  'clientId',
  'ssl',
  'sasl',
  'requestTimeout',
  'logger',
]);

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** The form of every option that kafkajs would not refuse before the first connection. */
const forms: readonly (readonly [
  option: keyof KafkaOptions,
  fits: (value: unknown) => boolean,
  wanted: string,
])[] = [
  ['clientId', (value) => typeof value === 'string' && value !== '', 'a text that is not empty'],
  ['ssl', (value) => typeof value === 'boolean' || isObject(value), 'true, false or options of tls.connect'],
  ['sasl', isObject, 'an object with a mechanism and its credentials'],
  ['logger', (value) => typeof value === 'function', 'a function'],
];

const defaultRequestTimeoutMs = 5_000;
const requestTimeoutRangeMs = { from: 100, to: 120_000 } as const;

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {@link OutboxError} `OUTBOX_INVALID_OPTION`.
 */
export function kafkaSettings(options: KafkaOptions): KafkaSettings {
  const unknown = Object.keys(options).find((option) => !optionNames.has(option));
  if (unknown !== undefined) throw invalid(unknown, 'is none', undefined);
  for (const [option, fits, wanted] of forms) {
    const value = options[option];
    if (value !== undefined && !fits(value)) throw invalid(option, `must be ${wanted}`, undefined);
  }
  return {
    brokers: brokerList(options.brokers),
    clientId: options.clientId ?? 'temporal-outbox',
    ssl: options.ssl ?? false,
    sasl: options.sasl,
    requestTimeoutMs: requestTimeout(options.requestTimeout ?? defaultRequestTimeoutMs),
    logger: options.logger,
  };
}

function brokerList(brokers: string | readonly string[]): readonly string[] {
  const given: unknown = typeof brokers === 'string' ? brokers.split(',') : brokers;
  // An environment variable that is not set is `undefined` in plain JavaScript.
  const texts: readonly unknown[] = Array.isArray(given) ? given : [given];
  const list = texts
    .map((broker) => (typeof broker === 'string' ? broker.trim() : String(broker)))
    .filter((broker) => broker !== '');
  const wrong = list.find((broker) => !/^[^\s:]+:\d{1,5}$/.test(broker));
  if (list.length === 0 || wrong !== undefined)
    throw invalid('brokers', 'must name at least one host:port', wrong ?? '');
  return list;
}

function requestTimeout(value: number): number {
  const { from, to } = requestTimeoutRangeMs;
  if (Number.isFinite(value) && value >= from && value <= to) return value;
  throw invalid('requestTimeout', `must be ${from} to ${to} ms`, value);
}

function invalid(option: string, what: string, value: unknown): OutboxError {
  return new OutboxError('OUTBOX_INVALID_OPTION', `The option \`${option}\` of kafka() ${what}.`, {
    details: { option, ...(value !== undefined && { value }) },
  });
}
