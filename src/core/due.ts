import ms from 'ms';
import { type Duration, durationMs } from './duration.ts';
import { OutboxError } from './errors.ts';
import { yearOneMs, yearTenThousandMs } from './written-time.ts';

/** When a message is due: at once, after a duration, or at a time. A time in the past means at once. */
export type Due =
  | { readonly after?: Duration; readonly at?: never }
  | { readonly after?: never; readonly at?: Date };

/** The due time as the database takes it: relative times count by its clock, not by this process's. */
export function dueOf(due: Due, delayLimitMs: number): { readonly afterMs?: number; readonly at?: string } {
  if (due.after !== undefined && due.at !== undefined) {
    throw new OutboxError('OUTBOX_OPTION_INVALID', 'Both "after" and "at" are given.', {
      details: { option: 'at' },
    });
  }
  if (due.at !== undefined) {
    if (!(due.at instanceof Date) || Number.isNaN(due.at.getTime()))
      throw new OutboxError(
        'OUTBOX_OPTION_INVALID',
        `The option "at" (${String(due.at)}) is not a valid Date.`,
        {
          details: { option: 'at', value: String(due.at) },
        },
      );
    if (due.at.getTime() >= yearTenThousandMs) throw outOfRange('at', String(due.at), delayLimitMs);
    return { at: new Date(Math.max(due.at.getTime(), yearOneMs)).toISOString() };
  }
  if (due.after === undefined) return {};
  const afterMs = durationMs(due.after);
  if (afterMs === undefined) {
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      `The option "after" (${String(due.after)}) is not a duration: pass milliseconds, or a string such as '15 minutes'.`,
      { details: { option: 'after', value: String(due.after) } },
    );
  }
  if (afterMs < 0 || afterMs > delayLimitMs) throw outOfRange('after', String(due.after), delayLimitMs);
  return { afterMs };
}

/** The error of a due time that the topic does not allow. */
export function outOfRange(option: string, value: string, delayLimitMs: number): OutboxError {
  return new OutboxError(
    'OUTBOX_DELAY_OUT_OF_RANGE',
    `The option "${option}" (${value}) is ${option === 'after' ? 'negative, or ' : ''}beyond the longest delay of the topic, ${ms(delayLimitMs)}.`,
    {
      details: { option, value, limitMs: delayLimitMs },
    },
  );
}
