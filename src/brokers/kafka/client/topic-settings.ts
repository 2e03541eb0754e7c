import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { kafkajs } from './kafkajs.ts';

/** Settings of one topic, by their names. */
export type KafkaTopicSettings = ReadonlyMap<string, string>;

/**
 * Reads these settings of topics, one entry per topic.
 *
 * @throws the error of the client: nobody answers, a topic is missing, or this client may not ask (DescribeConfigs)
 */
export async function kafkaTopicSettings(
  connection: KafkaConnection,
  topics: readonly string[],
  configNames: readonly string[],
): Promise<readonly KafkaTopicSettings[]> {
  const { resources } = await askBrokers(connection, (admin) =>
    admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({
        type: kafkajs().ConfigResourceTypes.TOPIC,
        name,
        configNames: [...configNames],
      })),
    }),
  );
  return resources.map(
    ({ configEntries }) =>
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
  );
}
