import { OutboxError } from '../../core/errors.ts';
import { kafkaReason } from '../../kafka/reason.ts';
import type { KafkaClient } from './client.ts';

interface PartitionLeader {
  readonly partitionId: number;
  readonly leader: number;
}

/**
 * Resolves when every partition of the topic has a leader that this process can reach.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` with the reason otherwise.
 */
export async function probeTopic(client: KafkaClient, address: string): Promise<void> {
  const partitions = await partitionsOf(client, address);
  const leaderless = partitions.filter(({ leader }) => leader < 0).map(({ partitionId }) => partitionId);
  if (leaderless.length > 0) {
    throw topicUnavailable(
      address,
      `partition ${leaderless.toSorted((a, b) => a - b).join(', ')} has no leader.`,
    );
  }
}

/**
 * How many partitions the topic has now.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` when no broker tells, or none knows the topic.
 */
export async function countPartitions(client: KafkaClient, address: string): Promise<number> {
  return (await partitionsOf(client, address)).length;
}

async function partitionsOf(client: KafkaClient, address: string): Promise<readonly PartitionLeader[]> {
  const partitions = await client
    .withAdmin(
      async (admin) => (await admin.fetchTopicMetadata({ topics: [address] })).topics[0]?.partitions ?? [],
    )
    .catch((error: unknown) => {
      throw topicUnavailable(address, kafkaReason(error), error);
    });
  if (partitions.length === 0) throw topicUnavailable(address, 'it does not exist or may not be used.');
  return partitions;
}

/** What is thrown when a topic cannot be used now. */
export function topicUnavailable(address: string, reason: string, cause?: unknown): OutboxError {
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `Kafka topic ${address}: ${reason}`, {
    cause,
    details: { address },
  });
}
