import { announceTopics } from '../operations/announce.ts';
import { visitDatabase } from '../store/database/visit.ts';
import { requireMigrated } from '../store/installation/migrate.ts';
import { type Config, defineConfig, requireDatabase, transportOf } from './config.ts';
import { createReceiptTopics } from './confirmation.ts';
import { databaseOf } from './database-config.ts';
import { policyOf } from './topic-policy.ts';

/** What was made ready for the topics of a configuration. */
export interface MigratedTopics {
  /** Names of the topics whose policies the database has now. */
  readonly topics: readonly string[];
  /** How many brokers need a topic for receipts, and how many of those were given one now. */
  readonly receipts: { readonly wanted: number; readonly made: number };
}

/**
 * Writes the policies of the topics, as every relay does at its start, and makes the topic of receipts where one asks
 * for them. What is there already stays. Your own Kafka topics are not made.
 *
 * @throws OutboxError `OUTBOX_MIGRATION_MISSING`, `OUTBOX_SOURCE_UNKNOWN`, `OUTBOX_SERVER_UNAVAILABLE`
 */
export async function migrateTopics(given: Config): Promise<MigratedTopics> {
  const config = requireDatabase(defineConfig(given), 'The announcement of topics');
  return visitDatabase(databaseOf(config.database), async (database) => {
    await requireMigrated(database);
    const receipts = await createReceiptTopics(config);
    await announceTopics(
      database,
      config.topics.map((topic) => policyOf(topic, transportOf(config, topic).name)),
      // What is not complete by then is completed by the relays.
      { timeout: 10_000 },
    );
    return { topics: config.topics.map(({ name }) => name), receipts };
  });
}
