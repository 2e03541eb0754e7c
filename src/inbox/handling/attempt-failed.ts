import type { Transaction } from '../../store/database/transaction.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import type { Position } from '../consumer-event.ts';

/** Counts and reports a try that was rolled back. */
export function attemptFailed<Tx extends Transaction>(
  { report, tally }: Pick<ConsumerContext<Tx>, 'report' | 'tally'>,
  { address, partition, offset }: Position,
  attempt: number,
  error: unknown,
): void {
  tally.failedAttempts += 1;
  report({ type: 'attempt-failed', address, partition, offset, attempt, error });
}
