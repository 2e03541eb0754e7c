import { type Duration, durationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';

/** A date without a time means midnight in UTC, a time without a zone means local time. */
export function timeOfFlag(option: string, text: string): Date {
  const time = new Date(text);
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(time.getTime())) return time;
  throw new OutboxError('OUTBOX_OPTION_INVALID', `--${option} takes an ISO time, and "${text}" is none.`, {
    details: { option },
  });
}

/** The duration of a flag, in milliseconds. */
export function durationOfFlag(option: string, text: string): number {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  const ms = durationMs(text as Duration);
  if (ms !== undefined) return ms;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `--${option} takes a duration such as 15m, and "${text}" is none.`,
    { details: { option } },
  );
}
