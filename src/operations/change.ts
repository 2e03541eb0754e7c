import { setTimeout as delay } from 'node:timers/promises';
import type { Lane } from '../core/lane.ts';
import { laneName } from '../core/lane.ts';
import type { Database } from '../store/database/database.ts';
import { sendNudge } from '../store/lane/nudge.ts';
import { cancelChange } from '../store/message/cancel.ts';
import {
  changeMessages,
  type MessageAnswer,
  type MessageChange,
  messagesPerTransaction,
} from '../store/message/change-messages.ts';
import { discardChange } from '../store/message/discard.ts';
import { idOfRef } from '../store/message/id-of-ref.ts';
import { type NewDue, type Rescheduled, rescheduleChange } from '../store/message/reschedule.ts';
import { retryChange } from '../store/message/retry.ts';
import { assertIds, assertText, authorOf, type OperationOptions, type Target } from './operation-options.ts';

export type { MessageAnswer };

/** How long to retry messages that other transactions hold, before they are answered as `busy`. */
const patienceMs = 2_000;
const tryAgainMs = 50;

/** Cancels messages that are waiting, retrying, or held. */
export function cancelMessages(
  database: Database,
  target: Target,
  options: OperationOptions,
): Promise<readonly MessageAnswer<'canceled'>[]> {
  return changeTarget(database, target, cancelChange, options);
}

/** Moves the due time of waiting messages. */
export function rescheduleMessages(
  database: Database,
  target: Target,
  due: NewDue,
  options: OperationOptions,
): Promise<readonly MessageAnswer<Rescheduled>[]> {
  return changeTarget(database, target, rescheduleChange(due), options);
}

/** Makes failed and retrying messages ready now. */
export function retryMessages(
  database: Database,
  target: Target,
  options: OperationOptions,
): Promise<readonly MessageAnswer<'retried'>[]> {
  return changeTarget(database, target, retryChange, options);
}

/** Ends failed messages for good. */
export function discardMessages(
  database: Database,
  target: Target,
  options: OperationOptions,
): Promise<readonly MessageAnswer<'discarded'>[]> {
  return changeTarget(database, target, discardChange, options);
}

/** The ids of a target. A ref that matches nothing has none. */
export async function idsOf(database: Database, target: Target): Promise<readonly string[]> {
  if ('ids' in target) return assertIds(target.ids);
  assertText('topic', target.topic, 200);
  assertText('ref', target.ref, 256);
  const id = await idOfRef(database, target.topic, target.ref);
  return id === undefined ? [] : [id];
}

/** Wakes the relays for lanes that may have work now. Without it they find the work a second later. */
export async function wakeLanes(database: Database, lanes: readonly Lane[]): Promise<void> {
  const distinct = [...new Map(lanes.map((lane) => [laneName(lane), lane])).values()];
  if (distinct.length > 0) await sendNudge(database, distinct).catch(() => undefined);
}

async function changeTarget<Result extends string>(
  database: Database,
  target: Target,
  change: MessageChange<Result>,
  options: OperationOptions,
): Promise<readonly MessageAnswer<Result>[]> {
  const author = authorOf(options);
  const dryRun = options.dryRun ?? false;
  const ids = await idsOf(database, target);
  const answers = new Map<string, MessageAnswer<Result>>();
  const triedUntil = performance.now() + patienceMs;
  for (let start = 0; start < ids.length; start += messagesPerTransaction) {
    let left: readonly string[] = ids.slice(start, start + messagesPerTransaction);
    while (left.length > 0) {
      const last = performance.now() >= triedUntil;
      const round = await changeMessages(database, left, change, author, { last, dryRun });
      for (const answer of round.answers) answers.set(answer.id, answer);
      left = round.busy;
      if (left.length > 0) await delay(tryAgainMs);
    }
  }
  if (!dryRun) await wakeLanes(database, lanesOf([...answers.values()]));
  return ids.flatMap((id) => answers.get(id) ?? []);
}

/** The lanes of the messages that were changed. */
export function lanesOf(answers: readonly MessageAnswer<string>[]): readonly Lane[] {
  return answers.flatMap(({ topic, lane, result }) =>
    topic === null || lane === null || ['too-late', 'unknown', 'busy'].includes(result)
      ? []
      : [{ topic, lane }],
  );
}
