/** One field of a cron line. */
interface Field {
  readonly from: number;
  readonly to: number;
  /** Names of the values from `from` on. */
  readonly names?: readonly string[];
}

const fields: readonly Field[] = [
  { from: 0, to: 59 },
  { from: 0, to: 23 },
  { from: 1, to: 31 },
  {
    from: 1,
    to: 12,
    names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
  },
  { from: 0, to: 6, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] },
];

const longestLine = 200;

/**
 * Whether the text is a cron line that every program reads in the same way: minute, hour, day of the month, month, day of the
 * week. A line that restricts both days is none: some programs take either day, others, such as Temporal, only what is both.
 */
export function isCron(line: string): boolean {
  const given = line.split(' ');
  const [, , dayOfMonth, , dayOfWeek] = given;
  return (
    line.length <= longestLine &&
    given.length === fields.length &&
    fields.every((field, n) => isField(given[n] ?? '', field)) &&
    (dayOfMonth === '*' || dayOfWeek === '*')
  );
}

function isField(text: string, field: Field): boolean {
  if (text === '*') return true;
  return text.startsWith('*/')
    ? isStep(text.slice(2), field)
    : text.split(',').every((part) => isPart(part, field));
}

/** A value, a range, or a range with a step. */
function isPart(text: string, field: Field): boolean {
  const [range = '', step, ...more] = text.split('/');
  const [first = '', last, ...others] = range.split('-');
  if (more.length + others.length > 0 || (step !== undefined && last === undefined)) return false;
  const from = valueOf(first, field);
  const to = last === undefined ? from : valueOf(last, field);
  return from <= to && (step === undefined || isStep(step, field));
}

function isStep(text: string, { to }: Field): boolean {
  return /^[1-9]\d?$/.test(text) && Number(text) <= to;
}

/** `NaN` for what is no value of the field. */
function valueOf(text: string, { from, to, names = [] }: Field): number {
  const named = names.indexOf(text.toUpperCase());
  if (named >= 0) return from + named;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= from && value <= to ? value : Number.NaN;
}
