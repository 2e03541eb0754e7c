import { OutboxError } from '../core/errors.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { forgetProcessed, markProcessed } from '../store/inbox/processed.ts';
import { isThenable, promiseMissing } from './handler.ts';

/** What became of the work: done now with its result, or not done because an earlier transaction did it. */
export type Once<Result> =
  | { readonly duplicate: false; readonly result: Result }
  | { readonly duplicate: true };

/** Bytes of a group's name and of a message's id: both are part of one index entry. */
const longestNameBytes = 512;

/**
 * Does `work` at most once per group and message id: for HTTP endpoints that receive a retried request, and for
 * consumers of any other kind.
 *
 * The id and what `work` writes through the same `tx` commit together. A concurrent transaction with the same id waits
 * for this one: after its commit it gets `duplicate: true`, after its rollback it does the work itself. When `work`
 * fails, let its error roll the transaction back; the id is not kept in any case. Ids are shared with a `consumer` of
 * the same group.
 *
 * @param tx an open transaction, never the client itself
 * @param group whose effect it is, 1 to 512 bytes
 * @param messageId the sender's id of the message or request, the same at every repetition, 1 to 512 bytes
 * @param work must return the promise of all that it does: what nobody waits for is not in the transaction
 * @throws OutboxError `OUTBOX_NOT_IN_TRANSACTION`, `OUTBOX_OPTION_INVALID`, `OUTBOX_PROMISE_MISSING` when `work` answers anything
 * else; and whatever `work` throws
 */
export async function once<Result>(
  tx: Transaction,
  group: string,
  messageId: string,
  work: () => Promise<Result>,
): Promise<Once<Result>> {
  const sql = sqlOf(tx);
  assertName('group', group);
  assertName('messageId', messageId);
  const fresh = await markProcessed(sql, group, [messageId], [null]);
  if (fresh.size === 0) return { duplicate: true };
  try {
    return { duplicate: false, result: await begun(work) };
  } catch (error) {
    // A caller may catch the error and commit. After an error of the database this fails, and so does any commit.
    await forgetProcessed(sql, group, [messageId]).catch(() => undefined);
    throw error;
  }
}

/** Nobody listens here, as to a consumer, so what would be lost in silence is refused. */
function begun<Result>(work: () => Promise<Result>): Promise<Result> {
  const answer = work();
  if (!isThenable(answer)) throw promiseMissing('The work of `once`', 'is refused');
  return answer;
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` naming the option */
export function assertName(option: string, value: string): void {
  if (isName(value)) return;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `The option "${option}" is not a string of 1 to ${longestNameBytes} bytes without NUL.`,
    { details: { option } },
  );
}

/** True for what can be part of the key of a processed message. */
export function isName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    !value.includes('\0') &&
    Buffer.byteLength(value) <= longestNameBytes
  );
}
