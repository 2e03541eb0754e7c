import type { OverdueMessage } from '../store/message/confirm-overdue.ts';

/**
 * What happens to a message whose receipt is overdue.
 *
 * - `postpone`: the group is merely behind it, or nobody knows; it gets its time once more.
 * - `resend`: the group has passed it without a word; it goes to its lane again.
 * - `give-up`: so it has, and the message was sent as often as its topic allows; it becomes failed.
 */
export type OverdueVerdict = 'postpone' | 'resend' | 'give-up';

/**
 * Judges a published message that has no receipt in its time. Offsets alone confirm nothing (they pass messages that
 * were parked or skipped); they only tell that a receipt can still be hoped for.
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
