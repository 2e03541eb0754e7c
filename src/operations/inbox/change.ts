import { setTimeout as delay } from 'node:timers/promises';
import type { Author } from '../../store/audit/audit.ts';
import type { Database } from '../../store/database/database.ts';
import { changeKept, type KeptAnswer, type KeptChange } from '../../store/inbox/change.ts';
import { messagesPerTransaction } from '../../store/message/change-messages.ts';
import { authorOf, type OperationOptions } from '../operation-options.ts';
import { checkKeptTarget, type KeptTarget } from './kept-target.ts';

export type { KeptAnswer };

/** How long to retry messages that others have in hand, before they are answered as `busy`. */
const patienceMs = 2_000;
const tryAgainMs = 50;

/** Changes the messages of a target. @returns one answer per message, in the order of the ids */
export async function changeKeptTarget<Result extends string>(
  database: Database,
  target: KeptTarget,
  change: KeptChange<Result>,
  options: OperationOptions,
): Promise<readonly KeptAnswer<Result>[]> {
  const author = authorOf(options);
  const { group, ids } = checkKeptTarget(target);
  return changePatiently(database, group, ids, change, { author, dryRun: options.dryRun ?? false });
}

/** Retries messages that others have in hand for a while, then answers them as `busy`. */
async function changePatiently<Result extends string>(
  database: Database,
  group: string,
  ids: readonly string[],
  change: KeptChange<Result>,
  { author, dryRun }: { readonly author: Author; readonly dryRun: boolean },
): Promise<readonly KeptAnswer<Result>[]> {
  const answers = new Map<string, KeptAnswer<Result>>();
  const triedUntil = performance.now() + patienceMs;
  for (let start = 0; start < ids.length; start += messagesPerTransaction) {
    let left: readonly string[] = ids.slice(start, start + messagesPerTransaction);
    while (left.length > 0) {
      const last = performance.now() >= triedUntil;
      const round = await changeKept(database, group, left, change, author, { last, dryRun });
      for (const answer of round.answers) answers.set(answer.id, answer);
      left = round.busy;
      if (left.length > 0) await delay(tryAgainMs);
    }
  }
  return ids.flatMap((id) => answers.get(id) ?? []);
}
