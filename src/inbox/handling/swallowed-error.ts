import { OutboxError } from '../../core/errors.ts';
import type { Sql } from '../../store/database/database.ts';
import { touchTransaction } from '../../store/inbox/receive.ts';
import { type FailedOperations, failedOperationsOf } from './failed-operations.ts';
import { saysAborted } from './infrastructure-faults.ts';

/**
 * A handler that catches the error of a statement resolves, but PostgreSQL then answers COMMIT with a rollback and no
 * error: the message would count as handled and be lost. To be called after the handlers, before the commit.
 *
 * @throws OutboxError `OUTBOX_TRANSACTION_ROLLED_BACK` when a statement of the transaction has failed
 */
export async function refuseSwallowedError(sql: Sql): Promise<void> {
  try {
    await touchTransaction(sql);
  } catch (cause) {
    if (!saysAborted(cause)) throw cause;
    throw rolledBack(cause);
  }
}

/**
 * Finds transactions that were rolled back although their client reports a commit, as
 * {@link refuseSwallowedError} does, but without a round trip for each: the database is asked only if an operation of the
 * client has failed during them.
 */
export class CommitProof {
  readonly #failed: FailedOperations;
  readonly #before: number;

  private constructor(failed: FailedOperations) {
    this.#failed = failed;
    this.#before = failed.count;
  }

  /** To be called when the transaction begins. @returns `undefined` if its client does not report failures */
  static of(tx: object): CommitProof | undefined {
    const failed = failedOperationsOf(tx);
    return failed === undefined ? undefined : new CommitProof(failed);
  }

  /**
   * To be called after the commit.
   *
   * @param isStored asks whether something that the transaction wrote is there
   * @throws OutboxError `OUTBOX_TRANSACTION_ROLLED_BACK`; and whatever `isStored` throws
   */
  async require(isStored: () => Promise<boolean>): Promise<void> {
    // The answer to an operation that nobody awaited comes before that to the commit, but may be reported later.
    await turn();
    if (this.#failed.count !== this.#before && !(await isStored())) throw rolledBack();
  }
}

/** One for all transactions that commit in the same turn. */
let nextTurn: Promise<void> | undefined;

/** Resolves when everything that has arrived by now has been reported. */
function turn(): Promise<void> {
  nextTurn ??= new Promise((resolve) => {
    setImmediate(() => {
      nextTurn = undefined;
      resolve();
    });
  });
  return nextTurn;
}

function rolledBack(cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ROLLED_BACK',
    'A statement of the handler failed, and the handler went on: PostgreSQL rolls the transaction back.',
    { cause },
  );
}
