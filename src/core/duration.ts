import ms, { type StringValue } from 'ms';

/**
 * A duration: milliseconds as a number, or a string such as `'10s'`, `'15 minutes'`, `'30 days'`.
 *
 * Months are not a unit, because their length depends on the calendar. The compiler checks strings that it can read; of one that it
 * cannot, such as a variable of the environment, pass milliseconds.
 *
 * @example
 * const after: Duration = Number(process.env.PAYMENT_TIMEOUT_MS ?? 900_000);
 */
export type Duration = number | StringValue;

/**
 * The milliseconds of a duration.
 *
 * @returns a finite number of milliseconds, possibly negative, or `undefined` if the text is not a duration.
 */
export function durationMs(duration: Duration): number | undefined {
  const value = typeof duration === 'number' ? duration : parse(duration);
  return value !== undefined && Number.isFinite(value) ? value : undefined;
}

function parse(text: StringValue): number | undefined {
  // `ms` throws on an empty text and on one over 100 characters, and returns undefined for other invalid texts.
  return typeof text === 'string' && text.length > 0 && text.length <= 100 ? ms(text) : undefined;
}

/** 36,500 days. PostgreSQL's times reach much further, but have a limit, beyond which it fails. */
export const longestDurationMs = 36_500 * 24 * 60 * 60 * 1_000;
