import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';

/** What brokers know about groups and topics. Every call rejects if none can be reached. */
export interface KafkaOffsets {
  /** By partition, the first offset that the group has not committed; without partitions where it has committed none. */
  committed(group: string, address: string): Promise<ReadonlyMap<number, string>>;
  /** By partition, the offset of the next record; without partitions that hold none. */
  ends(address: string): Promise<ReadonlyMap<number, string>>;
}

/** Kafka's offsets, queried again at every call. */
export function kafkaOffsets(connection: KafkaConnection): KafkaOffsets {
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
  };
}
