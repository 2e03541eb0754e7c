/** A time that somebody has written. */
export interface WrittenTime {
  readonly at: Date;
  /** False: it names no zone, so that it was read in that of this machine. */
  readonly zoned: boolean;
}

const form =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?<zone>[Zz]|[+-]\d{2}:\d{2})?)?$/;

/** ISO times of other years have a sign and six digits, which neither PostgreSQL nor consumers read. */
export const yearOneMs = new Date('0001-01-01T00:00:00Z').getTime();
export const yearTenThousandMs = Date.UTC(10_000, 0);

/**
 * Reads a time in the form of ISO 8601: a date, which is midnight in UTC, or a date and a time, with or without seconds.
 *
 * @returns `undefined` if it is none, also for a day that its month does not have, and a year before 1 or after 9999 in UTC
 */
export function writtenTime(text: string): WrittenTime | undefined {
  const { day, month, year, zone } = form.exec(text)?.groups ?? {};
  const at = new Date(text.replace(' ', 'T').toUpperCase());
  if (day === undefined || !(at.getTime() >= yearOneMs && at.getTime() < yearTenThousandMs)) return undefined;
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  if (Number(day) > lastDay) return undefined;
  return { at, zoned: zone !== undefined || text.length === 'yyyy-mm-dd'.length };
}

/**
 * Reads a time that a program states, such as an attribute of CloudEvents: a date, a time and its zone (RFC 3339). Anybody may have written
 * it, and what JavaScript takes for a time ("60", "never-1") is none.
 *
 * @returns `undefined` if it is none
 */
export function statedTime(text: string | undefined): Date | undefined {
  if (text === undefined || !/^[\d-]{10}[Tt]/.test(text)) return undefined;
  const time = writtenTime(text);
  return time?.zoned === true ? time.at : undefined;
}
