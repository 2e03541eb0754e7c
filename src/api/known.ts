import type { PauseScope } from '../operations/delivery/pause.ts';
import { unknownNames, withKnownNames } from '../operations/known-names.ts';
import type { Call } from './operation.ts';

/**
 * For an answer that has nothing in it, and before something is started: a misspelt name must not look like that. A caller that is
 * limited gets no such error, because what is not of its topics does not exist for it.
 *
 * @throws OutboxError `OUTBOX_GROUP_UNKNOWN`, `OUTBOX_TOPIC_UNKNOWN`
 */
export async function assertNamesKnown(
  { at, scope }: Pick<Call, 'at' | 'scope'>,
  names: { readonly topic?: string; readonly group?: string },
): Promise<void> {
  if (scope.limited) return;
  const unknown = await unknownNames(at, names);
  if (unknown !== undefined) throw unknown;
}

/**
 * Does something to a topic, or to all topics of a transport. For a name that there is not, a caller that is not limited is told
 * which there are.
 *
 * @throws OutboxError of the work
 */
export function naming<Result>(
  { at, scope }: Pick<Call, 'at' | 'scope'>,
  named: PauseScope,
  work: () => Promise<Result>,
): Promise<Result> {
  return scope.limited ? work() : withKnownNames(at, named, work);
}
