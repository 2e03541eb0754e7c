import type { BrokerOffsets } from '../../capabilities.ts';
import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { committedLags } from './lag.ts';

/** Kafka's offsets, queried again at every call. */
export function kafkaOffsets(connection: KafkaConnection): BrokerOffsets {
  return {
    async committed(group, address) {
      const [found] = await askBrokers(connection, (admin) =>
        admin.fetchOffsets({ groupId: group, topics: [address] }),
      );
      const known = (found?.partitions ?? []).filter(({ offset }) => BigInt(offset) >= 0n);
      return new Map(known.map(({ partition, offset }) => [partition, offset]));
    },
    async ends(address) {
      const partitions = await askBrokers(connection, (admin) => admin.fetchTopicOffsets(address));
      const filled = partitions.filter(({ low, high }) => BigInt(high) > BigInt(low));
      return new Map(filled.map(({ partition, high }) => [partition, high]));
    },
    lags: (groups, addresses) => committedLags(connection, groups, addresses),
  };
}
