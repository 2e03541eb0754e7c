import { setTimeout as delay } from 'node:timers/promises';
import type { Lane } from '../core/lane.ts';
import { laneName } from '../core/lane.ts';
import {
  type Change,
  changeLocked,
  messagesPerTransaction,
  transactOrRehearse,
} from '../store/audit/audit.ts';
import type { Database } from '../store/database/database.ts';
import { type KeptAnswer, type KeptChange, keptChange } from '../store/inbox/change.ts';
import { sendNudge } from '../store/lane/nudge.ts';
import { type MessageAnswer, type MessageChange, outboxChange } from '../store/message/change.ts';
import { idOfRef } from '../store/message/id-of-ref.ts';
import { checkKeptTarget, type KeptTarget } from './inbox/kept-target.ts';
import { assertIds, assertText, authorOf, type OperationOptions, type Target } from './operation-options.ts';

export type { KeptAnswer, MessageAnswer };

/** How long to retry messages that others have in hand, before they are answered as `busy`. */
const patienceMs = 2_000;
const tryAgainMs = 50;

/** Changes messages of the outbox, and wakes the relays. @returns one answer per message, in the order of the ids */
export async function changeMessages<Result extends string>(
  database: Database,
  target: Target,
  change: MessageChange<Result>,
  options: OperationOptions,
): Promise<readonly MessageAnswer<Result>[]> {
  const ids = await idsOf(database, target);
  const answers = await changePatiently(database, ids, outboxChange(change), options);
  if (options.dryRun !== true) await wakeLanes(database, lanesOf(answers));
  return answers;
}

/** Changes messages that a group keeps. @returns one answer per message, in the order of the ids */
export async function changeKept<Result extends string>(
  database: Database,
  target: KeptTarget,
  change: KeptChange<Result>,
  options: OperationOptions,
): Promise<readonly KeptAnswer<Result>[]> {
  const { group, ids } = checkKeptTarget(target);
  return changePatiently(database, ids, keptChange(group, change), options);
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

async function changePatiently<Answer extends MessageAnswer<string> | KeptAnswer<string>>(
  database: Database,
  ids: readonly string[],
  change: Change<Answer>,
  options: OperationOptions,
): Promise<readonly Answer[]> {
  const author = authorOf(options);
  const answers = new Map<string, Answer>();
  const triedUntil = performance.now() + patienceMs;
  for (let start = 0; start < ids.length; start += messagesPerTransaction) {
    let left = ids.slice(start, start + messagesPerTransaction);
    while (left.length > 0) {
      const [asked, last] = [left, performance.now() >= triedUntil];
      const round = await transactOrRehearse(database, options.dryRun ?? false, (sql) =>
        changeLocked(sql, asked, change, author, last),
      );
      for (const answer of round.answers) answers.set(answer.id, answer);
      left = [...round.busy];
      if (left.length > 0) await delay(tryAgainMs);
    }
  }
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
