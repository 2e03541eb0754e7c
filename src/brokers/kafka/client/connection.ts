import type { ConnectionOptions } from 'node:tls';
import type { Kafka, KafkaConfig, logCreator } from 'kafkajs';
import type { KafkaConsumption } from './consumption.ts';
import { withoutIdleTimers } from './idle-timers.ts';
import { kafkajs } from './kafkajs.ts';

const connectionTimeoutMs = 3_000;

/** How to reach Kafka, with all defaults filled in. Servers, TLS and credentials are read again for each client. */
export interface KafkaConnection {
  /** `host:port` of one broker or more. */
  readonly servers: readonly string[];
  readonly clientId: string;
  readonly tls: boolean | ConnectionOptions;
  readonly sasl: NonNullable<KafkaConfig['sasl']> | undefined;
  /** How long a broker may take to answer. */
  readonly requestTimeoutMs: number;
  readonly logger: logCreator | undefined;
  readonly consumption: KafkaConsumption;
}

/**
 * A kafkajs client whose idle connections set no timers. It logs warnings to the connection's logger, and nothing without one.
 *
 * @param config overrides for this use
 */
export function kafkaClient(connection: KafkaConnection, config: Partial<KafkaConfig> = {}): Kafka {
  const { Kafka, logLevel } = kafkajs();
  const { servers, clientId, tls, sasl, requestTimeoutMs, logger } = connection;
  const kafka = new Kafka({
    brokers: [...servers],
    clientId,
    connectionTimeout: Math.min(connectionTimeoutMs, requestTimeoutMs),
    logLevel: logger === undefined ? logLevel.NOTHING : logLevel.WARN,
    requestTimeout: requestTimeoutMs,
    ssl: tls,
    ...(sasl !== undefined && { sasl }),
    ...(logger !== undefined && { logCreator: logger }),
    ...config,
  });
  return withoutIdleTimers(kafka);
}
