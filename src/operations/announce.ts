import type { Database } from '../store/database/database.ts';
import { announcer, readAnnounced, type TopicPolicy, upsertTopics } from '../store/lane/topics.ts';
import { type ChangeAnswer, continueLanesChange, type LanesChangeOptions } from './lanes.ts';

/** A new topic that is not delivered yet, and why. */
export type UnfinishedTopic = { readonly topic: string } & Extract<ChangeAnswer, { done: false }>;

type Limits = Pick<LanesChangeOptions, 'timeout' | 'signal'>;

/** Writes the policies of topics, then runs {@link completeAnnounced} for the new ones. */
export async function announceTopics(
  database: Database,
  policies: readonly TopicPolicy[],
  limits: Limits,
): Promise<readonly UnfinishedTopic[]> {
  await upsertTopics(database, policies);
  return completeAnnounced(
    database,
    policies.map(({ name }) => name),
    limits,
  );
}

/**
 * Moves messages that were stored for new topics before their number of lanes was known: each goes to the lane of its key,
 * including those of transactions that were open when the topic was announced. Until then the topic is not delivered.
 *
 * @returns topics that were not completed in time
 */
export async function completeAnnounced(
  database: Database,
  topics: readonly string[],
  limits: Limits,
): Promise<readonly UnfinishedTopic[]> {
  const changes = await readAnnounced(database, topics);
  const answers = await Promise.all(
    changes.map(async (change) => ({
      topic: change.topic,
      ...(await continueLanesChange(database, change, { actor: announcer }, limits)),
    })),
  );
  return answers.filter((answer) => !answer.done);
}
