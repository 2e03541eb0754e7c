import type { BrokerTopics } from '../../capabilities.ts';
import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { unavailable } from './unavailable.ts';

/** Leaves a number to the defaults of the brokers. */
const asBrokersDo = -1;

/** The topics of a cluster. */
export function kafkaTopics(connection: KafkaConnection): BrokerTopics {
  return {
    missing: (addresses) => missingTopics(connection, addresses),
    create: (topic, partitions = asBrokersDo) =>
      askBrokers(connection, (admin) =>
        admin.createTopics({
          topics: [{ topic, numPartitions: partitions, replicationFactor: asBrokersDo }],
        }),
      ).catch((error: unknown) => {
        throw unavailable(connection, error);
      }),
  };
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
