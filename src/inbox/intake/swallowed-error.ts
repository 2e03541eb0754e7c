import { OutboxError } from '../../core/errors.ts';
import type { Sql } from '../../store/database/database.ts';
import { touchTransaction } from '../../store/inbox/receive.ts';
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
    throw new OutboxError(
      'OUTBOX_TRANSACTION_ROLLED_BACK',
      'A statement of the handler failed, and the handler went on: PostgreSQL rolls the transaction back.',
      { cause },
    );
  }
}
