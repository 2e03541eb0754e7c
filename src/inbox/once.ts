import { name } from '../core/options/name.ts';
import { optionTable } from '../core/options/option-table.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { forgetProcessed, markProcessed } from '../store/inbox/processed.ts';
import { isThenable, promiseMissing } from './handler.ts';

/** Whether the work was done now, with its result, or had been done by an earlier transaction. */
export type Once<Result> =
  | { readonly duplicate: false; readonly result: Result }
  | { readonly duplicate: true };

const names = optionTable('once()', { group: name(), messageId: name() });

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
 * @param group the consumer group that the effect belongs to, 1 to 512 bytes
 * @param messageId the sender's id of the message or request, the same on every retry, 1 to 512 bytes
 * @param work must return a promise that covers everything it does: what is not awaited is not in the transaction
 * @throws OutboxError `OUTBOX_NOT_IN_TRANSACTION`, `OUTBOX_OPTION_INVALID`, `OUTBOX_PROMISE_MISSING` when `work` returns
 * anything else; and whatever `work` throws
 */
export async function once<Result>(
  tx: Transaction,
  group: string,
  messageId: string,
  work: () => Promise<Result>,
): Promise<Once<Result>> {
  const sql = sqlOf(tx);
  names.read({ group, messageId });
  const fresh = await markProcessed(sql, group, [messageId], [null]);
  if (fresh.size === 0) return { duplicate: true };
  try {
    return { duplicate: false, result: await promised(work) };
  } catch (error) {
    // A caller may catch the error and commit. After a database error this fails, but then a commit fails, too.
    await forgetProcessed(sql, group, [messageId]).catch(() => undefined);
    throw error;
  }
}

/** A consumer reports a missing promise as an event. Here nothing listens for events, so it is an error. */
export function promised<Result>(work: () => Promise<Result>): Promise<Result> {
  const answer = work();
  if (!isThenable(answer)) throw promiseMissing('The work of `once`', 'is refused');
  return answer;
}
