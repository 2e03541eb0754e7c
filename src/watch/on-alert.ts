import type { Transaction } from '../store/database/transaction.ts';

/** An alert, as {@link OnAlert} gets it. */
export interface Alert {
  /** Name of its rule, as in {@link AlertSettings}. */
  readonly rule: string;
  /** What it is about, in words, such as `group billing of orders`; empty: the whole installation. */
  readonly subject: string;
  /** The same for programs, such as `{ group: 'billing', topic: 'orders' }`. */
  readonly of: Readonly<Record<string, string>>;
  /** In milliseconds, messages, or a share from 0 to 1, as its rule measures; the last one beyond the threshold. */
  readonly figure: number;
  /** The figure in a sentence. */
  readonly text: string;
  /** The command to run. */
  readonly next: string;
  /** Since when it fires, on the database's clock. */
  readonly since: Date;
  /** When it ended; `null`: it goes on. */
  readonly overAt: Date | null;
}

/**
 * Called by a relay for each alert: when it begins, and when it is over; once, with `overAt`, if it is over before the first call.
 *
 * It runs in a transaction of the relay's database that also notes that it was called: what it writes with `tx` happens exactly once
 * each, whatever crashes and however many relays run. What it does elsewhere may be repeated. If it rejects, or takes longer than 30 s,
 * `tx` is rolled back and it is called again later: after a second, then after twice as long each time, up to five minutes. It has 5 s
 * between two statements. Not called for what has been over for an hour, for rules that are silenced, and for an outage of PostgreSQL,
 * which no row can note.
 */
export type OnAlert = (tx: Transaction, alert: Alert) => PromiseLike<unknown>;
