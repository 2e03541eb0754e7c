import type { Transaction } from '../../store/database/transaction.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import type { KeyedMessage, Position } from '../consumer-event.ts';

/** Counts and reports a try that was rolled back. `tried` is only a position if it was of several messages. */
export function attemptFailed<Tx extends Transaction>(
  { report, tally }: Pick<ConsumerContext<Tx>, 'report' | 'tally'>,
  tried: Position & Partial<KeyedMessage>,
  attempt: number,
  error: unknown,
): void {
  tally.failedAttempts += 1;
  report({ type: 'attempt-failed', ...tried, attempt, error });
}
