import type { Lane } from '../core/lane.ts';
import { assertClient } from '../store/database/client.ts';
import { withItsWrites } from '../store/database/pending-writes.ts';
import { requireUndiverted } from '../store/database/transaction.ts';
import { lanesFilledBy } from './ready-lanes.ts';
import { nudge } from './wake.ts';

/** What {@link transaction} and {@link wake} need of a Prisma client, or of a pool wrapped by `clientOf`. */
export interface TransactionRunner<Tx, Options = unknown> {
  /** Runs `work` in a transaction, which rolls back when it rejects. */
  $transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: Options): Promise<Result>;
  /** Runs one statement outside of it: the nudge to the relays after the commit. */
  $queryRawUnsafe<Result = unknown>(query: string, ...values: unknown[]): PromiseLike<Result>;
}

/**
 * Runs `work` in a transaction and, after the commit, wakes the relays, so that messages are sent within a few milliseconds
 * instead of at the relay's next look.
 *
 * A lost wake-up delays a message by at most 100 ms. No message is sent if the transaction is rolled back. `$transaction` of
 * the client is as safe: its messages are sent at the relay's next look, or at once with {@link wake}.
 *
 * A `send`, `sendBatch`, `cancel` or `reschedule` that `work` does not await is awaited before the commit; if it fails, the
 * transaction is rolled back and this call rejects with its error.
 *
 * @param prisma the client, extended or not, or a pool wrapped by `clientOf`
 * @param options passed to `$transaction`: isolation level, timeouts
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for what is no client; `OUTBOX_CLIENT_UNFIT` for one of another database;
 * `OUTBOX_NOT_IN_TRANSACTION`, before `work` is called, for a client whose extension runs each statement in a transaction of its own;
 * whatever `$transaction` and `work` throw; a wake-up never fails
 */
export async function transaction<Tx, Result, Options>(
  prisma: TransactionRunner<Tx, Options>,
  work: (tx: Tx) => Promise<Result>,
  options?: Options,
): Promise<Result> {
  assertClient('transaction', prisma);
  let filled: readonly Lane[] = [];
  const result = await prisma.$transaction(async (tx) => {
    await requireUndiverted(tx);
    const answer = await withItsWrites(tx, () => work(tx));
    filled = lanesFilledBy(tx);
    return answer;
  }, options);
  nudge(prisma, (text, values) => prisma.$queryRawUnsafe(text, ...values), filled);
  return result;
}
