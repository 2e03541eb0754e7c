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

const defaultRequestTimeoutMs = 5_000;
const requestTimeoutRangeMs = { from: 100, to: 120_000 } as const;

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {@link OutboxError} `OUTBOX_INVALID_OPTION`.
 */
export function kafkaSettings(options: KafkaOptions): KafkaSettings {
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
  const list = (typeof brokers === 'string' ? brokers.split(',') : brokers)
    .map((broker) => broker.trim())
    .filter((broker) => broker !== '');
  const wrong = list.find((broker) => !/^[^\s:]+:\d{1,5}$/.test(broker));
  if (list.length === 0 || wrong !== undefined) {
    throw new OutboxError(
      'OUTBOX_INVALID_OPTION',
      'The option `brokers` of kafka() must name at least one host:port.',
      {
        details: { option: 'brokers', value: wrong ?? '' },
      },
    );
  }
  return list;
}

function requestTimeout(value: number): number {
  const { from, to } = requestTimeoutRangeMs;
  if (Number.isFinite(value) && value >= from && value <= to) return value;
  throw new OutboxError(
    'OUTBOX_INVALID_OPTION',
    `The option \`requestTimeout\` of kafka() must be ${from} to ${to} ms.`,
    {
      details: { option: 'requestTimeout', value },
    },
  );
}
