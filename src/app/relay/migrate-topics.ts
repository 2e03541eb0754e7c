import { type Config, defineConfig, requireDatabase, transportOf } from '../../config/config.ts';
import { databaseOf } from '../../config/database-config.ts';
import { announceTopics } from '../../operations/announce.ts';
import { visitDatabase } from '../../store/database/visit.ts';
import { readInstallation } from '../../store/installation/installation.ts';
import { requireMigrated } from '../../store/installation/migrate.ts';
import { type WantedGroups, wantedAddresses } from '../wanted-groups.ts';
import { createReceiptTopics } from './confirmation.ts';
import { policyOf } from './topic-policy.ts';

/** What was prepared for the topics of a configuration. */
export interface MigratedTopics {
  /** Names of the topics whose policies are now in the database. */
  readonly topics: readonly string[];
  /** How many brokers need a topic for receipts, and on how many it was created now. */
  readonly receipts: { readonly wanted: number; readonly made: number };
  /** What was created on brokers now: addresses, and what groups need, such as `the queue orders.billing`. */
  readonly created: readonly string[];
}

/** What is created beside the topic of receipts. */
export interface MigrateOptions {
  /** Also missing addresses, where the broker can, with its defaults for partitions and replicas. @defaultValue false */
  readonly create?: boolean;
  /** With `create`: also what these groups need to receive. @defaultValue none */
  readonly groups?: WantedGroups | undefined;
}

/**
 * Writes the policies of the topics, as every relay does at its start, and creates the topic of receipts where a topic asks
 * for them. Existing ones stay as they are.
 *
 * @throws OutboxError `OUTBOX_MIGRATION_MISSING`, `OUTBOX_SOURCE_UNKNOWN`, `OUTBOX_SERVER_UNAVAILABLE`; with `create` also
 * `OUTBOX_TOPIC_UNKNOWN` and those of `BrokerTopics.create`
 */
export async function migrateTopics(
  given: Config,
  { create = false, groups }: MigrateOptions = {},
): Promise<MigratedTopics> {
  const config = requireDatabase(defineConfig(given), 'The announcement of topics');
  return visitDatabase(databaseOf(config.database), async (database) => {
    await requireMigrated(database);
    const created = create ? await createMissing(config, groups) : [];
    const receipts = await createReceiptTopics(config, await readInstallation(database));
    await announceTopics(
      database,
      config.topics.map((topic) => policyOf(topic, transportOf(config, topic).name)),
      // Relays complete the rest.
      { timeout: 10_000 },
    );
    return { topics: config.topics.map(({ name }) => name), receipts, created };
  });
}

/** Groups come last, because what they need belongs to an address. */
async function createMissing(config: Config, groups: WantedGroups | undefined): Promise<readonly string[]> {
  const wanted = groups === undefined ? [] : [...wantedAddresses(config, groups)];
  try {
    const created = await createAddresses(config);
    for (const [transport, addresses] of wanted)
      for (const group of groups?.groups ?? [])
        created.push(...((await transport.groups?.create(group, addresses)) ?? []));
    return created;
  } finally {
    // An open connection would keep the process of the command alive; a later use opens another one.
    await Promise.all(Object.values(config.transports).map((transport) => transport.close()));
  }
}

async function createAddresses(config: Config): Promise<string[]> {
  const created: string[] = [];
  for (const topic of config.topics) {
    const { address } = topic.rules;
    if (await transportOf(config, topic).transport.topics?.create(address)) created.push(address);
  }
  return created;
}
