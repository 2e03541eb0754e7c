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
  /** Addresses that were created on their brokers now. */
  readonly created: readonly string[];
}

/**
 * Writes the policies of the topics, as every relay does at its start, and creates the topic of receipts where a topic asks
 * for them. Existing ones stay as they are.
 *
 * @param create also create missing addresses where the broker can, with its defaults for partitions and replicas
 * @throws OutboxError `OUTBOX_MIGRATION_MISSING`, `OUTBOX_SOURCE_UNKNOWN`, `OUTBOX_SERVER_UNAVAILABLE`
 */
export async function migrateTopics(given: Config, { create = false } = {}): Promise<MigratedTopics> {
  const config = requireDatabase(defineConfig(given), 'The announcement of topics');
  return visitDatabase(databaseOf(config.database), async (database) => {
    await requireMigrated(database);
    const created = create ? await createAddresses(config) : [];
    const receipts = await createReceiptTopics(config);
    await announceTopics(
      database,
      config.topics.map((topic) => policyOf(topic, transportOf(config, topic).name)),
      // Relays complete the rest.
      { timeout: 10_000 },
    );
    return { topics: config.topics.map(({ name }) => name), receipts, created };
  });
}

async function createAddresses(config: Config): Promise<readonly string[]> {
  const created: string[] = [];
  for (const topic of config.topics) {
    const { address } = topic.rules;
    if (await transportOf(config, topic).transport.topics?.create(address)) created.push(address);
  }
  return created;
}
