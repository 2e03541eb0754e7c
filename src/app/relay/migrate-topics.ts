import { createTopic } from '../../brokers/kafka/client/topics.ts';
import { isKafkaTransport } from '../../brokers/kafka/transport/kafka-transport.ts';
import { type Config, defineConfig, requireDatabase, transportOf } from '../../config/config.ts';
import { databaseOf } from '../../config/database-config.ts';
import { announceTopics } from '../../operations/announce.ts';
import { visitDatabase } from '../../store/database/visit.ts';
import { requireMigrated } from '../../store/installation/migrate.ts';
import { createReceiptTopics } from './confirmation.ts';
import { policyOf } from './topic-policy.ts';

/** What was prepared for the topics of a configuration. */
export interface MigratedTopics {
  /** Names of the topics whose policies are now in the database. */
  readonly topics: readonly string[];
  /** How many brokers need a topic for receipts, and on how many it was created now. */
  readonly receipts: { readonly wanted: number; readonly made: number };
  /** Addresses of topics that were created on Kafka now. */
  readonly created: readonly string[];
}

/**
 * Writes the policies of the topics, as every relay does at its start, and creates the topic of receipts where a topic asks
 * for them. Existing ones stay as they are.
 *
 * @param create also create missing topics on Kafka, with the broker's defaults for partitions and replicas
 * @throws OutboxError `OUTBOX_MIGRATION_MISSING`, `OUTBOX_SOURCE_UNKNOWN`, `OUTBOX_SERVER_UNAVAILABLE`
 */
export async function migrateTopics(given: Config, { create = false } = {}): Promise<MigratedTopics> {
  const config = requireDatabase(defineConfig(given), 'The announcement of topics');
  return visitDatabase(databaseOf(config.database), async (database) => {
    await requireMigrated(database);
    const created = create ? await createKafkaTopics(config) : [];
    const receipts = await createReceiptTopics(config);
    await announceTopics(
      database,
      config.topics.map((topic) => policyOf(topic, transportOf(config, topic).name)),
      // Relays complete what is not complete by then.
      { timeout: 10_000 },
    );
    return { topics: config.topics.map(({ name }) => name), receipts, created };
  });
}

async function createKafkaTopics(config: Config): Promise<readonly string[]> {
  const created: string[] = [];
  for (const topic of config.topics) {
    const { transport } = transportOf(config, topic);
    const { address } = topic.rules;
    if (isKafkaTransport(transport) && (await createTopic(transport.connection, address)))
      created.push(address);
  }
  return created;
}
