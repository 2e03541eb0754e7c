import { type Duration, durationMs, longestDurationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { assertOptions } from '../core/options/option-table.ts';
import type { NewMessage } from '../store/message/new-message.ts';

/**
 * What becomes of the due time of a message that is replaced. A reschedule sets its first due time anew.
 *
 * - `{ due: 'keep' }`: it stays, and the new one is ignored. So of many messages of a ref one is sent in each period, the last. An
 *   expiry must be after it.
 * - `{ atMost }`: the new one counts, but at most this long after the first, however often the message is replaced; 0 to 36,500
 *   days. So a steady stream cannot put the message off for ever.
 */
export type Replacement =
  | { readonly due: 'keep'; readonly atMost?: never }
  | { readonly due?: never; readonly atMost: Duration };

/** As the database takes it; `undefined`: the message replaces none. */
export function replacementOf(
  given: boolean | Replacement = false,
): Pick<NewMessage, 'replace' | 'keepDue' | 'atMostMs'> | undefined {
  if (given === false) return undefined;
  if (given === true) return { replace: true };
  assertOptions('replace', given, ['due', 'atMost']);
  const { due, atMost }: { readonly due?: unknown; readonly atMost?: Duration } = given;
  if (due === 'keep' && atMost === undefined) return { replace: true, keepDue: true };
  const atMostMs = due === undefined && atMost !== undefined ? durationMs(atMost) : undefined;
  if (atMostMs === undefined || atMostMs < 0 || atMostMs > longestDurationMs)
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      `The option "replace" is true, { due: 'keep' } or { atMost }, a duration of up to 100 years.`,
      { details: { option: 'replace', value: JSON.stringify(given) } },
    );
  return { replace: true, atMostMs };
}
