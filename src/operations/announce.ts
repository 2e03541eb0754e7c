import type { Author } from '../store/audit/audit.ts';
import type { Database } from '../store/database/database.ts';
import {
  announcer,
  type OpenChange,
  readOpenChanges,
  type TopicPolicy,
  upsertTopics,
} from '../store/lane/topics.ts';
import { completingCommand } from './completing-command.ts';
import { continueLanesChange, type LanesChangeOptions, type TopicChangeAnswer } from './delivery/lanes.ts';

/**
 * A topic whose lanes or partitions are being changed, which is not delivered meanwhile, and why. `operator`: only the command in `who`
 * completes it.
 */
export type UnfinishedTopic = { readonly topic: string } & (
  | Extract<TopicChangeAnswer, { done: false }>
  | { readonly done: false; readonly waitingFor: 'operator'; readonly who: readonly string[] }
);

type Limits = Pick<LanesChangeOptions, 'timeout' | 'signal'>;

/** Writes the policies of topics, then runs {@link completeChanges}. */
export async function announceTopics(
  database: Database,
  policies: readonly TopicPolicy[],
  limits: Limits,
): Promise<readonly UnfinishedTopic[]> {
  await upsertTopics(database, policies);
  return completeChanges(
    database,
    policies.map(({ name }) => name),
    limits,
  );
}

/**
 * Completes changes of lanes. That of a new topic moves messages that were stored before its number of lanes was known: each goes
 * to the lane of its key, including those of transactions that were open when the topic was announced. That of an operator is
 * completed in the name of the operator, whose call may have been killed. Until then the topic is not delivered. A change of partitions
 * is left to its operator, who knows which groups have to pass all messages first.
 *
 * A change that fails holds up no other. Nothing runs any more when this ends.
 *
 * @param failed is called with each failure when all have ended; by default it throws the first one
 * @returns topics that were not completed in time
 */
export async function completeChanges(
  database: Database,
  topics: readonly string[],
  limits: Limits,
  failed: (error: unknown) => void = thrown,
): Promise<readonly UnfinishedTopic[]> {
  const changes = await readOpenChanges(database, topics);
  const ended = await Promise.allSettled(
    changes.map(async (change) => ({
      topic: change.topic,
      ...(change.kind === 'lanes'
        ? await continueLanesChange(database, change, authorOf(change), limits)
        : leftTo(change)),
    })),
  );
  for (const one of ended) if (one.status === 'rejected') failed(one.reason);
  return ended
    .flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    .filter((answer) => !answer.done);
}

function leftTo(change: OpenChange): Omit<UnfinishedTopic, 'topic'> {
  return { done: false, waitingFor: 'operator', who: [completingCommand(change)] };
}

function thrown(error: unknown): never {
  throw error;
}

function authorOf({ actor }: OpenChange): Author {
  return actor === announcer ? { actor } : { actor, reason: 'finished by a relay' };
}
