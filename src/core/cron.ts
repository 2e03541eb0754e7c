/** One field of a cron line. */
interface Field {
  /** As in errors. */
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Names of the values from `from` on. */
  readonly names?: readonly string[];
}

const fields: readonly Field[] = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of the month', from: 1, to: 31 },
  {
    name: 'month',
    from: 1,
    to: 12,
    names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
  },
  // Sunday is 0 and 7.
  { name: 'day of the week', from: 0, to: 7, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] },
];

const named: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

const longestLine = 200;
const daysOfMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** A cron line that was read. */
export interface CronLine {
  /** Five fields with a space between them. */
  readonly line: string;
  /** The values of each field. */
  readonly values: readonly ReadonlySet<number>[];
}

/** What is wrong with a cron line. */
export interface CronFault {
  /** The end of a sentence, such as “must have as hour …”. */
  readonly fault: string;
}

/**
 * Reads a cron line that every program reads in the same way: minute, hour, day of the month, month, day of the week, or a name
 * such as `@daily`. A line that restricts both days is none: some programs take either day, others, such as Temporal, only what
 * is both. Nor is one that never occurs.
 */
export function readCron(text: string): CronLine | CronFault {
  const words = text.trim();
  const line = (named.get(words) ?? words).split(/\s+/).join(' ');
  const given = line.split(' ');
  if (given.length !== fields.length || line.length > longestLine)
    return {
      fault: `must be five fields (${fields.map(({ name }) => name).join(', ')}), such as '30 6 * * MON-FRI', or ${[...named.keys()].join(', ')}`,
    };
  const values = fields.map((field, n) => valuesOf(given[n] ?? '', field));
  const wrong = values.findIndex((read) => read === undefined);
  if (wrong >= 0) return faultOf(given[wrong] ?? '', fields[wrong]);
  const read = values.filter((one) => one !== undefined);
  const [, , days, months] = read;
  if (given[2] !== '*' && given[4] !== '*')
    return { fault: `must have '*' as day of the month or as day of the week: programs disagree about both` };
  const first = Math.min(...(days ?? []));
  if (![...(months ?? [])].some((month) => first <= (daysOfMonths[month - 1] ?? 0)))
    return { fault: 'never occurs: none of its months has its day of the month' };
  return { line, values: read };
}

function faultOf(text: string, field: Field | undefined): CronFault {
  const { name = '', from = 0, to = 0, names = [] } = field ?? {};
  const words = names.length > 0 ? ` or ${names[0]}-${names.at(-1)}` : '';
  return {
    fault: `must have as ${name} '*', values of ${from}-${to}${words}, ranges such as ${from}-${from + 2}, or steps such as */2 and ${from}-${from + 4}/2, in a list if there are several, not '${text}'`,
  };
}

/**
 * Whether a time is one of the line, by the clock of the zone: also one that a clock change repeats, and both times.
 *
 * @param line is one that was read
 */
export function cronTimes(line: string, timeZone: string): (at: Date) => boolean {
  const read = readCron(line);
  if ('fault' in read) return () => false;
  const [minutes, hours, days, months, weekdays] = read.values;
  const clock = new Intl.DateTimeFormat('en', {
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    hourCycle: 'h23',
  });
  return (at) => {
    const parts = new Map(clock.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const shown = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? Number.NaN;
    const [year, month, day] = [shown('year'), shown('month'), shown('day')];
    return (
      at.getTime() % 1_000 === 0 &&
      shown('second') === 0 &&
      minutes?.has(shown('minute')) === true &&
      hours?.has(shown('hour')) === true &&
      days?.has(day) === true &&
      months?.has(month) === true &&
      weekdays?.has(new Date(Date.UTC(year, month - 1, day)).getUTCDay()) === true
    );
  };
}

/** The values of a field; `undefined`: it is none. */
function valuesOf(text: string, field: Field): ReadonlySet<number> | undefined {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const range = rangeOf(part, field, text);
    if (range === undefined) return undefined;
    for (let value = range.from; value <= range.to; value += range.step)
      values.add(field.to === 7 ? value % 7 : value);
  }
  return values;
}

/** Of a value, a range, or a range with a step; `*` stands alone. */
function rangeOf(
  part: string,
  field: Field,
  whole: string,
): { readonly from: number; readonly to: number; readonly step: number } | undefined {
  const [range = '', step, ...more] = part.split('/');
  const every = range === '*' && part === whole;
  const [first = '', last, ...others] = every ? [String(field.from), String(field.to)] : range.split('-');
  if (more.length + others.length > 0 || (step !== undefined && last === undefined)) return undefined;
  const from = valueOf(first, field);
  const to = last === undefined ? from : valueOf(last, field);
  if (!(from <= to) || (step !== undefined && !isStep(step, field))) return undefined;
  return { from, to, step: Number(step ?? 1) };
}

function isStep(text: string, { to }: Field): boolean {
  return /^[1-9]\d?$/.test(text) && Number(text) <= to;
}

/** `NaN` for what is no value of the field. */
function valueOf(text: string, { from, to, names = [] }: Field): number {
  const name = names.indexOf(text.toUpperCase());
  if (name >= 0) return from + name;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return value >= from && value <= to ? value : Number.NaN;
}
