import type { ConfigEntries } from 'kafkajs';
import { askBrokers } from './ask-brokers.ts';
import type { KafkaConnection } from './connection.ts';
import { kafkajs } from './kafkajs.ts';
import { missingTopics } from './topics.ts';
import { missing, unavailable } from './unavailable.ts';

const retention = 'retention.ms';
const policy = 'cleanup.policy';

/**
 * The longest `retention.ms` of the topics; `Infinity` if one keeps messages for ever. Kafka deletes whole segments, so a
 * message may outlive this by the time during which its segment was written (`segment.ms`).
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`; `OUTBOX_ADDRESS_MISSING` for a topic that does not exist
 */
export async function redeliveryHorizonMs(
  connection: KafkaConnection,
  topics: readonly string[],
): Promise<number> {
  const answer = await askBrokers(connection, (admin) =>
    admin.describeConfigs({
      includeSynonyms: false,
      resources: topics.map((name) => ({
        type: kafkajs().ConfigResourceTypes.TOPIC,
        name,
        configNames: [retention, policy],
      })),
    }),
  ).catch(async (cause: unknown) => {
    const gone = await missingTopics(connection, topics).catch((): readonly string[] => []);
    throw gone.length > 0 ? missing(connection, gone) : unavailable(connection, cause);
  });
  return Math.max(0, ...answer.resources.map(({ configEntries }) => keptForMs(configEntries)));
}

/** How long a topic with these settings keeps a message, in milliseconds. */
export function keptForMs(entries: readonly Pick<ConfigEntries, 'configName' | 'configValue'>[]): number {
  const valueOf = (name: string): string | undefined =>
    entries.find(({ configName }) => configName === name)?.configValue;
  const deletes = (valueOf(policy) ?? 'delete').split(',').some((one) => one.trim() === 'delete');
  const keptMs = Number(valueOf(retention) ?? -1);
  return deletes && keptMs >= 0 ? keptMs : Number.POSITIVE_INFINITY;
}
