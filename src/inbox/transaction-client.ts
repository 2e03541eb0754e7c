import type { Transaction } from '../store/transaction.ts';

/** A Prisma client, an extended one included, as far as a consumer needs it. `Tx` is what its transactions offer. */
export interface TransactionClient<Tx extends Transaction> {
  $transaction<Result>(
    work: (tx: Tx) => Promise<Result>,
    options?: {
      readonly maxWait?: number;
      readonly timeout?: number;
      readonly isolationLevel?: 'ReadCommitted';
    },
  ): Promise<Result>;
}
