import { randomUUID } from 'node:crypto';
import { type ITopicConfig, Kafka, logLevel } from 'kafkajs';
import { withoutIdleTimers } from '../../../src/brokers/kafka/client/idle-timers.ts';
import { until } from '../fixtures/until.ts';

/** A client separate from the one under test, for topics and for reading. */
export function observer(brokers: string): Kafka {
  return withoutIdleTimers(
    new Kafka({ brokers: brokers.split(','), clientId: 'observer', logLevel: logLevel.NOTHING }),
  );
}

/**
 * Waits until every partition of a topic is served by its leader. That is later than in the metadata, which a probe
 * reads: a broker that has just become leader refuses messages until it learns of it.
 */
export async function untilServed(kafka: Kafka, topic: string): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  await until(async () => (await admin.fetchTopicOffsets(topic)).length > 0, 60_000);
  await admin.disconnect();
}

/** Creates a topic for one test, and waits until every partition is served by its leader. */
export async function createTopic(kafka: Kafka, config: Omit<ITopicConfig, 'topic'> = {}): Promise<string> {
  const topic = `test-${randomUUID()}`;
  const admin = kafka.admin();
  await admin.connect();
  const spread =
    config.replicaAssignment === undefined
      ? { replicationFactor: 1 }
      : { numPartitions: -1, replicationFactor: -1 };
  await admin.createTopics({ topics: [{ ...spread, ...config, topic }], waitForLeaders: false });
  await admin.disconnect();
  await untilServed(kafka, topic);
  return topic;
}

/** Deletes a topic and waits until the brokers no longer have it. */
export async function deleteTopic(kafka: Kafka, topic: string): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [topic] });
  await until(async () => !(await admin.listTopics()).includes(topic));
  await admin.disconnect();
}
