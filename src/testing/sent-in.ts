import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { readSentInTransaction, type SentMessage } from '../store/message/sent-in.ts';

/** A sent message with its payload parsed. */
export type Sent = Omit<SentMessage, 'payload'> & { readonly payload: unknown };

/**
 * What the transaction has sent so far, in the order of sending: for tests of a service that roll their transaction
 * back and run neither relay nor broker.
 */
export async function sentIn(tx: Transaction): Promise<readonly Sent[]> {
  const rows = await readSentInTransaction(sqlOf(tx));
  return rows.map((row) => ({ ...row, payload: JSON.parse(row.payload) as unknown }));
}
