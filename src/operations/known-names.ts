import { OutboxError, type OutboxErrorCode } from '../core/errors.ts';
import type { PauseScope } from './delivery/pause.ts';
import type { Status } from './delivery/status.ts';

/** Where the names are read that a database knows. */
export interface KnowsNames {
  status(): Promise<Pick<Status, 'groups' | 'lanes' | 'topics'>>;
}

/**
 * Checks the names in a filter that has found nothing: a misspelt name must not look like an empty result.
 *
 * @returns `OUTBOX_GROUP_UNKNOWN` or `OUTBOX_TOPIC_UNKNOWN`, with some of the names that there are
 */
export async function unknownNames(
  at: KnowsNames,
  { topic, group }: { readonly topic?: string; readonly group?: string },
): Promise<OutboxError | undefined> {
  if (topic === undefined && group === undefined) return undefined;
  const { groups, lanes, topics } = await at.status();
  const known = [...topics.map(({ name }) => name), ...lanes.map((lane) => lane.topic)];
  if (group !== undefined && !groups.some((one) => one.group === group))
    return unknown(
      'OUTBOX_GROUP_UNKNOWN',
      `No consumer group "${group}" has ever used this database`,
      groups.map((one) => one.group),
    );
  // A consumer may keep messages of a topic that is sent from another database.
  if (topic !== undefined && group === undefined && !known.includes(topic))
    return unknown('OUTBOX_TOPIC_UNKNOWN', `This database has no topic "${topic}"`, known);
  return undefined;
}

/**
 * Does something to a topic, or to all topics of a transport.
 *
 * @throws OutboxError of the work. That for an unknown name has some of the names that there are.
 */
export async function withKnownNames<Result>(
  at: KnowsNames,
  scope: PauseScope,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OutboxError)) throw error;
    if (error.code === 'OUTBOX_TOPIC_UNKNOWN' && 'topic' in scope)
      throw (await unknownNames(at, scope)) ?? error;
    if (error.code !== 'OUTBOX_TRANSPORT_UNKNOWN' || !('transport' in scope)) throw error;
    const { topics } = await at.status();
    throw unknown(
      error.code,
      `No topic uses the transport "${scope.transport}"`,
      topics.map(({ transport }) => transport),
    );
  }
}

function unknown(code: OutboxErrorCode, what: string, names: readonly string[]): OutboxError {
  return new OutboxError(code, `${what}${among(names)}.`);
}

function among(names: readonly string[]): string {
  const distinct = [...new Set(names)].toSorted();
  if (distinct.length === 0) return '';
  return ` (there are ${distinct.slice(0, 5).join(', ')}${distinct.length > 5 ? ', …' : ''})`;
}
