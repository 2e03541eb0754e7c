import type { Transaction } from '../store/database/transaction.ts';

/** A Prisma client, an extended one included, or what `clientOf` makes of a pool, as far as a consumer needs it. `Tx` is what its transactions offer. */
export interface TransactionClient<Tx extends Transaction> {
  /**
   * Does `work` in a transaction, which commits when it resolves and is rolled back when it rejects. `maxWait` is for how many
   * milliseconds it may wait for a connection, `timeout` how many the work may take.
   */
  $transaction<Result>(
    work: (tx: Tx) => Promise<Result>,
    options?: {
      readonly maxWait?: number;
      readonly timeout?: number;
      readonly isolationLevel?: 'ReadCommitted';
    },
  ): Promise<Result>;
}
