import type { KafkaConnection } from '../../../src/kafka/connection.ts';

/** How a source of a test reaches the brokers. */
export function kafkaConnection(brokers: string): KafkaConnection {
  return {
    brokers: brokers.split(','),
    clientId: 'test-source',
    ssl: false,
    sasl: undefined,
    requestTimeoutMs: 5_000,
    logger: undefined,
  };
}
