import ms from 'ms';
import type { Duration } from '../../core/duration.ts';
import { OutboxError } from '../../core/errors.ts';
import type { ConfirmRules, Topic } from '../../core/topic.ts';

/** How long the ids of handled messages are kept: a message that arrives again later is handled again. */
export type Window = Duration | 'forever';

/** What must fit into a window. */
export interface WindowDemand {
  readonly group: string;
  /** `Infinity`: forever. */
  readonly windowMs: number;
  /** How long the broker may redeliver a message; `Infinity`: it keeps messages forever. */
  readonly redeliveryPeriodMs: number;
  /** The topics that the group handles. */
  readonly topics: readonly Topic[];
}

/**
 * Refuses a window that a message could outlive.
 *
 * The last copy of a message is sent after the last wait for a receipt that its topic allows, and the broker may deliver
 * that copy as long as it keeps it. Manual retries and resets of offsets are not counted.
 *
 * @throws OutboxError `OUTBOX_WINDOW_TOO_SHORT`
 */
export function assertWindow({ group, windowMs, redeliveryPeriodMs, topics }: WindowDemand): void {
  const resendMs = Math.max(
    0,
    ...topics.map(({ rules: { confirm } }) => (confirm?.group === group ? resendsMs(confirm) : 0)),
  );
  const neededMs = redeliveryPeriodMs + resendMs;
  if (windowMs >= neededMs) return;
  const resends = resendMs === 0 ? '' : `, ${ms(resendMs, { long: true })} of them by being sent again`;
  throw new OutboxError(
    'OUTBOX_WINDOW_TOO_SHORT',
    `The group "${group}" keeps processed ids ${lasting(windowMs)}, and a message may arrive again ${lasting(neededMs)}${resends}.`,
    { details: { group, windowMs, neededMs, redeliveryPeriodMs, resendMs } },
  );
}

/** From the first send to the last resend for a missing receipt. */
function resendsMs({ maxSends, receiptTimeoutMs }: ConfirmRules): number {
  let sum = 0;
  for (let send = 0; send < maxSends; send += 1)
    sum += receiptTimeoutMs[Math.min(send, receiptTimeoutMs.length - 1)] ?? 0;
  return sum;
}

function lasting(time: number): string {
  return time === Number.POSITIVE_INFINITY ? 'forever' : `for ${ms(time, { long: true })}`;
}
