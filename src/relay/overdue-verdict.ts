import type { OverdueMessage } from '../store/message/confirm-overdue.ts';
import type { Passed } from './passed-times.ts';

/**
 * What happens to a message whose receipt is overdue.
 *
 * - `postpone`: the group has not reached it yet, or that is unknown; its receipt timeout starts again.
 * - `wait`: that will be known within seconds; it stays overdue.
 * - `resend`: the group has passed it without a receipt; it goes to its lane again.
 * - `give-up`: as `resend`, but the message was already sent as often as its topic allows; it becomes failed.
 */
export type OverdueVerdict = 'postpone' | 'wait' | 'resend' | 'give-up';

/**
 * Judges a published message whose receipt is overdue. What a group has passed confirms nothing (it also passes messages that
 * were parked or skipped); it only shows whether a receipt can still be expected.
 */
export function judgeOverdue(
  { before, partition, offset, sends }: Omit<OverdueMessage, 'id'>,
  passed: Passed,
  maxSends: number,
): OverdueVerdict {
  if (partition === null || offset === null) {
    if (!before) return passed.soon ? 'wait' : 'postpone';
  } else {
    const next = passed.offsets.get(partition);
    if (next === undefined || BigInt(next) <= BigInt(offset)) return 'postpone';
  }
  return sends >= maxSends ? 'give-up' : 'resend';
}
