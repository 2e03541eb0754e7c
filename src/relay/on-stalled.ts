import type { Transaction } from '../store/database/transaction.ts';

/** A consumer group that does not move although messages wait for it. */
export interface StalledGroup {
  /** Name of the topic; of several that are sent to one address, one of them. */
  readonly topic: string;
  /** Name of the consumer group. */
  readonly group: string;
  /** Since when it stands, at the latest: when a relay first saw it there with messages that wait, on the database's clock. */
  readonly since: Date;
  /** Number of messages of the topic that wait for it; `null`: unknown, because it has never acknowledged any there. */
  readonly waiting: number | null;
  /** The partitions in which it stands, ascending. */
  readonly partitions: readonly number[];
}

/**
 * Called by a relay for each consumer group that has stalled: messages of a partition wait for it, and for the time that
 * {@link StalledSettings} say it has acknowledged none of them.
 *
 * It runs in a transaction of the relay's database that also notes that it was called: what it writes with `tx` happens exactly
 * once per stall, whatever crashes and however many relays run. What it does elsewhere may be repeated. If it rejects, or
 * takes longer than 30 s, `tx` is rolled back and it is called again at the next look; after ten rejections in a row all calls of this
 * relay wait a second, then twice as long after each, up to five minutes. It has 5 s between two statements. It is
 * called again only after the group has moved in all of these partitions, and stalled anew.
 */
export type OnStalled = (tx: Transaction, stalled: StalledGroup) => PromiseLike<unknown>;
