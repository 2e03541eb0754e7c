import type { Transaction } from '../store/database/transaction.ts';

/** What a consumer needs of a Prisma client, extended or not, or of a pool wrapped by `clientOf`. `Tx` is the type of its transactions. */
export interface TransactionClient<Tx extends Transaction> {
  /**
   * Does `work` in a transaction, which commits when `work` resolves and is rolled back when it rejects. `maxWait` limits the
   * wait for a connection, `timeout` the work, both in milliseconds.
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
