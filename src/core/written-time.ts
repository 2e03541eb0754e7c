/** A time that somebody has written. */
export interface WrittenTime {
  readonly at: Date;
  /** False: it names no zone, so that it was read in that of this machine. */
  readonly zoned: boolean;
}

const form =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?<zone>[Zz]|[+-]\d{2}:\d{2})?)?$/;

/**
 * Reads a time in the form of ISO 8601: a date, which is midnight in UTC, or a date and a time, with or without seconds.
 *
 * @returns `undefined` if it is none, also for a day that its month does not have
 */
export function writtenTime(text: string): WrittenTime | undefined {
  const { day, month, year, zone } = form.exec(text)?.groups ?? {};
  const at = new Date(text.replace(' ', 'T').toUpperCase());
  if (day === undefined || Number.isNaN(at.getTime())) return undefined;
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  if (Number(day) > lastDay) return undefined;
  return { at, zoned: zone !== undefined || text.length === 'yyyy-mm-dd'.length };
}
