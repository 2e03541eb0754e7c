import { randomUUID } from 'node:crypto';
import { type ITopicConfig, Kafka, logLevel } from 'kafkajs';
import { until } from './until.ts';

/** A client beside the one under test, for topics and for reading. */
export function observer(brokers: string): Kafka {
  return new Kafka({ brokers: brokers.split(','), clientId: 'observer', logLevel: logLevel.NOTHING });
}

/** Makes a topic of its own for a test, and waits until every partition is served by its leader. */
export async function createTopic(kafka: Kafka, config: Omit<ITopicConfig, 'topic'> = {}): Promise<string> {
  const topic = `test-${randomUUID()}`;
  const admin = kafka.admin();
  await admin.connect();
  const spread =
    config.replicaAssignment === undefined
      ? { replicationFactor: 1 }
      : { numPartitions: -1, replicationFactor: -1 };
  await admin.createTopics({ topics: [{ ...spread, ...config, topic }], waitForLeaders: false });
  await until(async () => {
    return (await admin.fetchTopicOffsets(topic)).length > 0;
  });
  await admin.disconnect();
  return topic;
}

/** Deletes a topic and waits until the brokers no longer know it. */
export async function deleteTopic(kafka: Kafka, topic: string): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [topic] });
  await until(async () => !(await admin.listTopics()).includes(topic));
  await admin.disconnect();
}
