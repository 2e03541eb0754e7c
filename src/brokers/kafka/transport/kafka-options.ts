import type { ConnectionOptions } from 'node:tls';
import type { KafkaConfig, logCreator } from 'kafkajs';
import { type Duration, durationMs } from '../../../core/duration.ts';
import { OutboxError } from '../../../core/errors.ts';
import { isObject } from '../../../core/options/collections.ts';
import { type Lazy, read } from '../../../core/options/lazy.ts';
import { assertTlsOptions, unknownOption } from '../../../core/options/option-names.ts';
import { toldValue } from '../../../core/options/told-value.ts';
import type { KafkaConnection } from '../client/connection.ts';
import { type KafkaConsumerOptions, kafkaConsumption } from './consumer-options.ts';

/** Credentials, in the form that kafkajs takes. */
export type Sasl = NonNullable<KafkaConfig['sasl']>;

/** How to reach Kafka, and how long to wait for it. */
export interface KafkaOptions {
  /** `host:port`, several of them separated by commas or as a list. One that answers is enough. */
  readonly brokers: Lazy<string | readonly string[]>;
  /** The name that brokers see in quotas and logs. @defaultValue `temporal-outbox` */
  readonly clientId?: string;
  /** TLS: `true` for the certificates that Node trusts, or options of `tls.connect`. @defaultValue no TLS */
  readonly ssl?: Lazy<boolean | ConnectionOptions>;
  /** Credentials, in the form that kafkajs takes; a function is asked at every new connection. @defaultValue none */
  readonly sasl?: Lazy<Sasl>;
  /**
   * How long a broker may take to answer, 100 ms to 2 min. What has not been answered by then counts as maybe stored. Longer
   * times keep a lane waiting on a stalled broker. @defaultValue `'5s'`
   */
  readonly requestTimeout?: Duration;
  /** Receives the log of the consumers' client, kafkajs: warnings and above. @defaultValue nothing is logged */
  readonly logger?: logCreator;
  /** How consumers take part in their group, and how much they fetch. A relay reads receipts by it, too. */
  readonly consumers?: KafkaConsumerOptions;
}

const optionNames: readonly (keyof KafkaOptions)[] = [
  'brokers',
  'clientId',
  'ssl',
  'sasl',
  'requestTimeout',
  'logger',
  'consumers',
];

/** What the mechanisms of kafkajs take; others are custom ones, which name who authenticates. */
const saslNames: Readonly<Record<string, readonly string[]>> = {
  plain: ['username', 'password'],
  'scram-sha-256': ['username', 'password'],
  'scram-sha-512': ['username', 'password'],
  oauthbearer: ['oauthBearerProvider'],
  aws: ['authorizationIdentity', 'accessKeyId', 'secretAccessKey', 'sessionToken'],
};

const defaultRequestTimeoutMs = 5_000;
const requestTimeoutRangeMs = { from: 100, to: 120_000 } as const;

/**
 * Checks the options and fills in the defaults. What was given as a function is asked whenever it is read.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`.
 */
export function kafkaConnection(options: KafkaOptions): KafkaConnection {
  const unknown = unknownOption(options, optionNames);
  if (unknown !== undefined) throw invalid(unknown, 'is unknown');
  const {
    brokers,
    clientId = 'temporal-outbox',
    consumers,
    logger,
    requestTimeout,
    sasl,
    ssl = false,
  } = options;
  if (typeof clientId !== 'string' || clientId === '')
    throw invalid('clientId', 'must be a text that is not empty');
  if (logger !== undefined && typeof logger !== 'function') throw invalid('logger', 'must be a function');
  const connection: KafkaConnection = {
    clientId,
    requestTimeoutMs: requestTimeoutOf(requestTimeout ?? defaultRequestTimeoutMs),
    logger,
    consumption: kafkaConsumption(consumers),
    get brokers() {
      return brokerList(typeof brokers === 'function' ? brokers() : brokers);
    },
    get ssl() {
      return checkedTls(read(ssl));
    },
    get sasl() {
      return sasl === undefined ? undefined : checkedSasl(read(sasl));
    },
  };
  checkGiven(connection, { brokers, sasl, ssl });
  return connection;
}

/** What stands there as it is, is judged at once. */
function checkGiven(
  connection: KafkaConnection,
  given: Readonly<Record<'brokers' | 'sasl' | 'ssl', unknown>>,
): void {
  for (const name of ['brokers', 'sasl', 'ssl'] as const)
    if (typeof given[name] !== 'function') Reflect.get(connection, name);
}

function checkedTls(ssl: boolean | ConnectionOptions): boolean | ConnectionOptions {
  assertTlsOptions('ssl', ssl, invalid);
  return ssl;
}

function checkedSasl(sasl: Sasl): Sasl {
  if (!isObject(sasl) || typeof sasl.mechanism !== 'string')
    throw invalid('sasl', 'must be an object with a mechanism and its credentials');
  const known = saslNames[sasl.mechanism.toLowerCase()];
  const unknown = unknownOption(sasl, ['mechanism', ...(known ?? ['authenticationProvider'])]);
  if (unknown !== undefined)
    throw invalid(
      `sasl.${unknown}`,
      `is not an option of ${known === undefined ? 'a mechanism of your own' : `the mechanism ${sasl.mechanism}`}`,
    );
  // kafkajs writes into what it is given.
  return { ...sasl };
}

function brokerList(brokers: string | readonly string[]): readonly string[] {
  const given: unknown = typeof brokers === 'string' ? brokers.split(',') : brokers;
  // An environment variable that is not set is `undefined` in plain JavaScript.
  const texts: readonly unknown[] = Array.isArray(given) ? given : [given];
  const list = texts
    .map((broker) => (typeof broker === 'string' ? broker.trim() : String(broker)))
    .filter((broker) => broker !== '');
  const wrong = list.some((broker) => !/^[^\s:]+:\d{1,5}$/.test(broker));
  if (list.length === 0 || wrong) throw invalid('brokers', 'must name at least one host:port');
  return list;
}

function requestTimeoutOf(given: Duration): number {
  const { from, to } = requestTimeoutRangeMs;
  const value = durationMs(given);
  if (value !== undefined && value >= from && value <= to) return value;
  throw invalid('requestTimeout', 'must be 100 ms to 2 min', given);
}

function invalid(option: string, what: string, value?: unknown): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option \`${option}\` of kafka() ${what}.`, {
    details: { option, ...toldValue(value) },
  });
}
