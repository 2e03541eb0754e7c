import { type Config, transportOf } from '../../config/config.ts';
import type { TopicRoute } from '../../relay/topic-route.ts';
import type { Database } from '../../store/database/database.ts';
import { readInstallation } from '../../store/installation/installation.ts';
import { requireMigrated } from '../../store/installation/migrate.ts';
import { upsertTopics } from '../../store/lane/topics.ts';
import { policyOf } from './topic-policy.ts';

/** Checks that this is the installation's database, and writes the policies of the topics. */
export async function announce(
  database: Database,
  config: Config,
): Promise<{ installation: string; routes: readonly TopicRoute[] }> {
  await requireMigrated(database);
  const installation = await readInstallation(database);
  const routed = config.topics.map((topic) => ({ topic, ...transportOf(config, topic) }));
  await upsertTopics(
    database,
    routed.map(({ topic, name }) => policyOf(topic, name)),
  );
  return {
    installation,
    routes: routed.map(({ topic, transport }) => ({ name: topic.name, rules: topic.rules, transport })),
  };
}
