import type { Transaction } from '../store/transaction.ts';

/** Milliseconds. What is left out is as the client has it. */
export interface TransactionLimits {
  /** For a connection. */
  readonly maxWait?: number;
  /** For all of its work. */
  readonly timeout?: number;
}

/** A Prisma client, an extended one included, as far as a consumer needs it. `Tx` is what its transactions offer. */
export interface TransactionClient<Tx extends Transaction> {
  $transaction<Result>(
    work: (tx: Tx) => Promise<Result>,
    options?: TransactionLimits & { readonly isolationLevel?: 'ReadCommitted' },
  ): Promise<Result>;
}
