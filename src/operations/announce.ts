import type { Database } from '../store/database/database.ts';
import { announcer, readAnnounced, type TopicPolicy, upsertTopics } from '../store/lane/topics.ts';
import { type ChangeAnswer, continueLanesChange, type LanesChangeOptions } from './lanes.ts';

/** A new topic that is not delivered yet, and why. */
export type UnfinishedTopic = { readonly topic: string } & Extract<ChangeAnswer, { done: false }>;

type Limits = Pick<LanesChangeOptions, 'timeout' | 'signal'>;

/** Writes the policies of topics, and completes what {@link completeAnnounced} does for the new ones. */
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
 * Moves what was stored for new topics before anybody knew how many lanes they have: each message comes into the lane of
 * its key, also those of transactions that were open when the topic was announced. It is not delivered before.
 *
 * @returns topics for which the time was too short
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
