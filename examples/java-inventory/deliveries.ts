import { Kafka, logLevel } from 'kafkajs';

const brokers = (process.env['KAFKA_BROKERS'] ?? '').split(',');
export const kafkaAdmin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
const topic = 'deduct-stock';

/** How many messages to the inventory are in Kafka. */
export async function stored(): Promise<number> {
  const ends = await kafkaAdmin.fetchTopicOffsets(topic);
  return sumOf(ends.map(({ high }) => high));
}

/** How many of them the group of the inventory has committed. */
export async function committed(): Promise<number> {
  const [group] = await kafkaAdmin.fetchOffsets({ groupId: 'inventory', topics: [topic] });
  // -1 is no offset.
  return sumOf((group?.partitions ?? []).map(({ offset }) => offset));
}

const sumOf = (offsets: readonly string[]): number =>
  offsets.reduce((sum, offset) => sum + Math.max(0, Number(offset)), 0);
