import type { KafkaConnection } from '../../../src/brokers/kafka/client/connection.ts';
import { defaultConsumption, type KafkaConsumption } from '../../../src/brokers/kafka/client/consumption.ts';

/** Connection settings of a source in tests. */
export function kafkaConnection(
  brokers: string,
  consumption: Partial<KafkaConsumption> = {},
): KafkaConnection {
  return {
    servers: brokers.split(','),
    clientId: 'test-source',
    tls: false,
    sasl: undefined,
    requestTimeoutMs: 5_000,
    logger: undefined,
    consumption: { ...defaultConsumption, ...consumption },
  };
}
