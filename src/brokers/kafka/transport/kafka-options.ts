import type { ConnectionOptions } from 'node:tls';
import type { KafkaConfig, logCreator } from 'kafkajs';
import type { Duration } from '../../../core/duration.ts';
import { isObject, type Table, unknownIn } from '../../../core/options/collections.ts';
import { type Lazy, lazy } from '../../../core/options/lazy.ts';
import { optionTable } from '../../../core/options/option-table.ts';
import { Misfit, misfit, type Reader } from '../../../core/options/reader.ts';
import { servers } from '../../../core/options/servers.ts';
import { tls } from '../../../core/options/tls.ts';
import { defaulted, duration, func, optional, text } from '../../../core/options/values.ts';
import { secret } from '../../../core/secrets.ts';
import type { KafkaConnection } from '../client/connection.ts';
import { consumerOptions, type KafkaConsumerOptions, kafkaConsumption } from './consumer-options.ts';

/** Credentials, in the form that kafkajs takes. */
export type Sasl = NonNullable<KafkaConfig['sasl']>;

/** How to reach Kafka, and how long to wait for it. */
export interface KafkaOptions {
  /** `host:port`, several of them separated by commas or as a list. One that answers is enough. */
  readonly servers: Lazy<string | readonly string[]>;
  /** The name that brokers see in quotas and logs. @defaultValue `temporal-outbox` */
  readonly clientId?: string;
  /** TLS: `true` for the certificates that Node trusts, or options of `tls.connect`. @defaultValue no TLS */
  readonly tls?: Lazy<boolean | ConnectionOptions>;
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

/** What the mechanisms of kafkajs take; others are custom ones, which name who authenticates. */
const saslNames: Readonly<Record<string, readonly string[]>> = {
  plain: ['username', 'password'],
  'scram-sha-256': ['username', 'password'],
  'scram-sha-512': ['username', 'password'],
  oauthbearer: ['oauthBearerProvider'],
  aws: ['authorizationIdentity', 'accessKeyId', 'secretAccessKey', 'sessionToken'],
};

const sasl: Reader<Sasl> = {
  wanted: 'an object with a mechanism and its credentials',
  read(given, option) {
    if (!isSasl(given)) throw misfit(option, `must be ${sasl.wanted}`);
    const known = saslNames[given.mechanism.toLowerCase()] ?? ['authenticationProvider'];
    const problems = unknownIn(given, ['mechanism', ...known], option);
    if (problems.length > 0) throw new Misfit(problems);
    return asSecrets(given);
  },
};

/** Errors of brokers may repeat what they refuse. */
function asSecrets(given: Sasl): Sasl {
  if ('authenticationProvider' in given) return given;
  if ('oauthBearerProvider' in given) {
    const { oauthBearerProvider } = given;
    const provider: typeof oauthBearerProvider = async () => {
      const token = await oauthBearerProvider();
      secret(token.value);
      return token;
    };
    return { ...given, oauthBearerProvider: provider };
  }
  if ('password' in given) secret(given.password, given.username);
  if ('secretAccessKey' in given) for (const one of [given.secretAccessKey, given.sessionToken]) secret(one);
  return given;
}

const isSasl = (given: unknown): given is Sasl =>
  isObject(given) && 'mechanism' in given && typeof given.mechanism === 'string';

const kafkaOptions = optionTable('kafka()', {
  servers: lazy(servers()),
  clientId: text('temporal-outbox'),
  tls: lazy(tls<ConnectionOptions>(), false),
  sasl: optional(lazy(sasl)),
  requestTimeout: duration('100ms', '2 min', '5s'),
  logger: optional(func<logCreator>()),
  consumers: defaulted(consumerOptions),
} satisfies Table<KafkaOptions>);

/**
 * Checks the options and fills in the defaults. What was given as a function is asked whenever it is read.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`.
 */
export function kafkaConnection(options: KafkaOptions): KafkaConnection {
  const { clientId, consumers, logger, requestTimeout, ...given } = kafkaOptions.read(options);
  return {
    clientId,
    requestTimeoutMs: requestTimeout,
    logger,
    consumption: kafkaConsumption(consumers),
    get servers() {
      return given.servers();
    },
    get tls() {
      return given.tls();
    },
    get sasl() {
      // kafkajs writes into what it is given.
      return given.sasl && { ...given.sasl() };
    },
  };
}
