import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { unavailable } from './unavailable.ts';

/** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` if no broker answers whether the topic exists */
export async function topicExists(connection: KafkaConnection, topic: string): Promise<boolean> {
  return (await missingTopics(connection, [topic])).length === 0;
}

/** Leaves a number to the defaults of the brokers. */
const asBrokersDo = -1;

/**
 * Creates a topic with the brokers' default replication. An existing one is left as it is.
 *
 * @param partitions by default as many as the brokers' default
 * @returns whether it was created now
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` with the brokers' reason
 */
export async function createTopic(
  connection: KafkaConnection,
  topic: string,
  partitions = asBrokersDo,
): Promise<boolean> {
  return askBrokers(connection, (admin) =>
    admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: asBrokersDo }] }),
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
