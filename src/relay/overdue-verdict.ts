import type { OverdueMessage } from '../store/message/confirm-overdue.ts';

/**
 * What happens to a message whose receipt is overdue.
 *
 * - `postpone`: the group has not reached it yet, or that is unknown; its receipt timeout starts again.
 * - `resend`: the group has passed it without a receipt; it goes to its lane again.
 * - `give-up`: as `resend`, but the message was already sent as often as its topic allows; it becomes failed.
 */
export type OverdueVerdict = 'postpone' | 'resend' | 'give-up';

/**
 * Judges a published message whose receipt is overdue. Offsets alone confirm nothing (they also pass messages that were
 * parked or skipped); they only show whether a receipt can still be expected.
 *
 * @param passed by partition, the first offset that the group has not passed, as Kafka counts committed offsets
 */
export function judgeOverdue(
  { partition, offset, sends }: Pick<OverdueMessage, 'partition' | 'offset' | 'sends'>,
  passed: ReadonlyMap<number, string>,
  maxSends: number,
): OverdueVerdict {
  const next = partition === null ? undefined : passed.get(partition);
  if (next === undefined || offset === null || BigInt(next) <= BigInt(offset)) return 'postpone';
  return sends >= maxSends ? 'give-up' : 'resend';
}
