import type { Lane } from '../core/lane.ts';
import { laneName } from '../core/lane.ts';
import { rest } from '../core/rest.ts';
import {
  type Change,
  changeLocked,
  messagesPerTransaction,
  type Round,
  transactOrRehearse,
} from '../store/audit/audit.ts';
import type { Database } from '../store/database/database.ts';
import { type KeptAnswer, type KeptChange, keptChange } from '../store/inbox/change.ts';
import type { KeptName } from '../store/inbox/edit.ts';
import { sendNudge } from '../store/lane/nudge.ts';
import { type MessageAnswer, type MessageChange, outboxChange } from '../store/message/change.ts';
import { idOfRef } from '../store/message/id-of-ref.ts';
import { assertId, assertText, authorOf, invalid, type OperationOptions } from './operation-options.ts';

export type { KeptAnswer, MessageAnswer };

/** Messages by their ids, or by a ref: the waiting message of that ref, else the newest. */
export type Target = { readonly ids: readonly string[] } | { readonly topic: string; readonly ref: string };

/** Messages that one group keeps, by their ids. */
export interface KeptTarget {
  /** Name of the consumer group. */
  readonly group: string;
  /** Ids of the messages within the group, 1 to 10,000. */
  readonly ids: readonly string[];
}

/** Maximum number of messages per call. */
const targetLimit = 10_000;

/** The results that say why nothing was done. */
export const refusals: ReadonlySet<string> = new Set([
  'too-late',
  'behind-key',
  'unknown',
  'busy',
  'out-of-range',
  'past-expiry',
  'expired',
  'refused',
  'not-ended',
]);

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
  const named = target.ids.map((id) => checkKeptName({ group: target.group, id }));
  const ids = distinct(named.map(({ id }) => id));
  return changePatiently(database, ids, keptChange(target.group, change), options);
}

/** The ids of a target. A ref that matches nothing has none. */
export async function idsOf(database: Database, target: Target): Promise<readonly string[]> {
  if ('ids' in target) return distinct(target.ids.map(assertId));
  assertText('topic', target.topic, 200);
  assertText('ref', target.ref, 256);
  const id = await idOfRef(database, target.topic, target.ref);
  return id === undefined ? [] : [id];
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function checkKeptName({ group, id }: KeptName): KeptName {
  assertText('group', group, 1_000);
  assertText('id', id, 1_000);
  return { group, id };
}

/** The ids without repeats. @throws OutboxError `OUTBOX_OPTION_INVALID` for none or too many */
function distinct(given: readonly string[]): readonly string[] {
  const ids = [...new Set(given)];
  if (ids.length >= 1 && ids.length <= targetLimit) return ids;
  throw invalid('ids', `names ${ids.length} messages, but an operation takes 1 to ${targetLimit}`);
}

/** Wakes the relays for lanes that may have work now. Without it they find the work a second later. */
export async function wakeLanes(database: Database, lanes: readonly Lane[]): Promise<void> {
  const once = [...new Map(lanes.map((lane) => [laneName(lane), lane])).values()];
  if (once.length > 0) await sendNudge(database, once).catch(() => undefined);
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
      // Nobody waits for a message that this change has done while it waits for another one.
      const undone = (round: Round<Answer>): boolean => database.inOne === true && round.busy.length > 0;
      const round = await transactOrRehearse(database, options.dryRun === true || undone, (sql) =>
        changeLocked(sql, asked, change, author, last),
      );
      if (!undone(round)) {
        for (const answer of round.answers) answers.set(answer.id, answer);
        left = [...round.busy];
      }
      if (left.length > 0) await rest(tryAgainMs);
    }
  }
  return ids.flatMap((id) => answers.get(id) ?? []);
}

/** The lanes of the messages that were changed. */
export function lanesOf(answers: readonly MessageAnswer<string>[]): readonly Lane[] {
  return answers.flatMap(({ topic, lane, result }) =>
    topic === null || lane === null || refusals.has(result) ? [] : [{ topic, lane }],
  );
}
