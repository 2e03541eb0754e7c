import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { kafkajs } from './kafkajs.ts';

const limit = 'max.message.bytes';
/** Kafka's own default. */
const usualBytes = 1_048_588;

/** The largest batch that any of the topics takes, in bytes; Kafka's default where this client may not read it. */
export async function largestBatchBytes(
  connection: KafkaConnection,
  topics: readonly string[],
): Promise<number> {
  const answer = await askBrokers(connection, (admin) =>
    admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({
        type: kafkajs().ConfigResourceTypes.TOPIC,
        name,
        configNames: [limit],
      })),
    }),
  ).catch(() => undefined);
  const entries = answer?.resources.flatMap(({ configEntries }) => configEntries) ?? [];
  const limits = entries.flatMap(({ configName, configValue }) =>
    configName === limit ? [Number(configValue)] : [],
  );
  return limits.length === 0 ? usualBytes : Math.max(...limits);
}
