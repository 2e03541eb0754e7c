import type { KafkaConnection } from './connection.ts';
import { kafkaTopicSettings } from './topic-settings.ts';

const limit = 'max.message.bytes';
/** Kafka's own default. */
const usualBytes = 1_048_588;

/** The largest batch that any of the topics takes, in bytes; Kafka's default where this client may not read it. */
export async function largestBatchBytes(
  connection: KafkaConnection,
  topics: readonly string[],
): Promise<number> {
  const found = await kafkaTopicSettings(connection, topics, [limit]).catch(() => []);
  const limits = found.flatMap((settings) => {
    const value = settings.get(limit);
    return value === undefined ? [] : [Number(value)];
  });
  return limits.length === 0 ? usualBytes : Math.max(...limits);
}
