import { Kafka, logLevel } from 'kafkajs';
import { withoutIdleTimers } from '../../../src/brokers/kafka/client/idle-timers.ts';

/** Succeeds when this broker answers and is a member of its cluster. */
export async function probe(address: string, nodeId: number): Promise<void> {
  const client = new Kafka({
    brokers: [address],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 2_000,
    requestTimeout: 3_000,
    retry: { retries: 0 },
  });
  const admin = withoutIdleTimers(client).admin();
  try {
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    if (!brokers.some((broker) => broker.nodeId === nodeId))
      throw new Error(`Broker ${nodeId} has not joined yet.`);
  } finally {
    await admin.disconnect();
  }
}
