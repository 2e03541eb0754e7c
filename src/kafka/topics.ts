import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { unavailable } from './unavailable.ts';

/** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when no broker tells whether the topic exists */
export async function topicExists(connection: KafkaConnection, topic: string): Promise<boolean> {
  return (await missingTopics(connection, [topic])).length === 0;
}

/**
 * Makes a topic with the replication that is the brokers' default. One that exists is left as it is.
 *
 * @returns whether it was made now
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` with the brokers' reason
 */
export async function createTopic(
  connection: KafkaConnection,
  topic: string,
  partitions: number,
): Promise<boolean> {
  return askBrokers(connection, (admin) =>
    admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: -1 }] }),
  ).catch((error: unknown) => {
    throw unavailable(connection, error);
  });
}

/**
 * The topics among the given ones that the brokers do not have, or do not show.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when no broker answers
 */
export async function missingTopics(
  connection: KafkaConnection,
  topics: readonly string[],
): Promise<readonly string[]> {
  const known = await askBrokers(connection, (admin) => admin.listTopics()).catch((error: unknown) => {
    throw unavailable(connection, error);
  });
  return topics.filter((topic) => !known.includes(topic));
}
