import ms, { type StringValue } from 'ms';

/**
 * A length of time: milliseconds as a number, or words such as `'10s'`, `'15 minutes'`, `'30 days'`.
 *
 * Months are not a unit, because their length depends on the calendar.
 */
export type Duration = number | StringValue;

/**
 * The milliseconds of a duration.
 *
 * @returns a finite number of milliseconds, negative durations included, or `undefined` when the text is no duration.
 */
export function durationMs(duration: Duration): number | undefined {
  const value = typeof duration === 'number' ? duration : parse(duration);
  return value !== undefined && Number.isFinite(value) ? value : undefined;
}

function parse(text: StringValue): number | undefined {
  // `ms` throws on an empty text and on one over 100 characters, and answers undefined for other nonsense.
  return typeof text === 'string' && text.length > 0 && text.length <= 100 ? ms(text) : undefined;
}

/** 36,500 days. The times that PostgreSQL can compute end far later, but they end, and with an error. */
export const longestDurationMs = 36_500 * 24 * 60 * 60 * 1_000;
