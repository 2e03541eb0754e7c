import { readJson } from '../core/json.ts';
import type { State } from '../core/transitions.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { readSentInTransaction } from '../store/message/sent-in.ts';

/** A message that the transaction has sent. */
export interface Sent {
  /** UUID of the message; it travels to the consumer. */
  readonly id: string;
  /** Name of its topic. */
  readonly topic: string;
  /** Messages of one key are delivered in order; null: it has none. */
  readonly key: string | null;
  /** Business name, unique in the topic while the message waits; null: it has none. */
  readonly ref: string | null;
  /** Parsed from its JSON. */
  readonly payload: unknown;
  /** The headers that its sender gave it; null: none. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** `waiting` when it is due later, else `ready`. */
  readonly state: State;
  /** When it is due; null: at once. */
  readonly dueAt: Date | null;
}

/**
 * What the transaction has sent so far, in the order of sending: for tests of a service that roll their transaction
 * back and run neither relay nor broker.
 */
export async function sentIn(tx: Transaction): Promise<readonly Sent[]> {
  const rows = await readSentInTransaction(sqlOf(tx));
  return rows.map((row) => ({ ...row, payload: readJson(row.payload) }));
}
