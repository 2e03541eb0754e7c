import ms from 'ms';
import { type Duration, durationMs, longestDurationMs } from '../duration.ts';
import { secret } from '../secrets.ts';
import { type JsonSchema, Misfit, misfit, type Read, type Reader } from './reader.ts';

/** How a reader describes itself. */
type Description = Pick<Reader<unknown>, 'ofText' | 'schema'>;

/**
 * A reader of single values.
 *
 * @param convert returns `undefined` for a value that will not do
 * @param normal what is read if the option is not given; without it the option is required
 * @param description as of {@link Reader}; the schema without the default
 */
export function value<Value>(
  wanted: string,
  convert: (given: unknown) => Value | undefined,
  normal?: Value,
  { ofText, schema }: Description = {},
): Reader<Value> {
  return {
    wanted,
    ofText,
    schema: schema && (normal === undefined ? schema : { ...schema, default: normal }),
    read(given, option) {
      const converted = given === undefined ? normal : convert(given);
      if (converted === undefined) throw misfit(option, `must be ${wanted}`, given);
      return converted;
    },
  };
}

/** `undefined`, or what the reader reads. */
export function optional<Value>(reader: Reader<Value>): Reader<Value | undefined> {
  return {
    ...reader,
    read: (given, option) => (given === undefined ? undefined : reader.read(given, option)),
  };
}

/** What the reader reads, of an empty object if none is given: all defaults of its table. */
export function defaulted<Value>(reader: Reader<Value>): Reader<Value> {
  return { ...reader, read: (given, option) => reader.read(given === undefined ? {} : given, option) };
}

/** The value as it was given, once the reader has read it: for what another package takes. */
export function asGiven<Given>(reader: Reader<unknown>): Reader<Given> {
  return {
    ...reader,
    read(given, option) {
      reader.read(given, option);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the reader has checked it
      return given as Given;
    },
  };
}

/** What is read, if `test` agrees. @param rule ends the error, as in “must not name a user without a password” */
export function where<Value>(
  reader: Reader<Value>,
  rule: string,
  test: (value: Value) => boolean,
): Reader<Value> {
  return {
    ...reader,
    read(given, option) {
      const read = reader.read(given, option);
      if (!test(read)) throw misfit(option, rule, given);
      return read;
    },
  };
}

/** One of some words and switches, such as `'forever'` or `false`, or what the reader reads. @param normal as of {@link value} */
export function either<const Word extends string | boolean, Value>(
  words: readonly Word[],
  reader: Reader<Value>,
  normal?: Word,
): Reader<Word | Value> {
  const wanted = `${words.map(quoted).join(', ')} or ${reader.wanted}`;
  return {
    wanted,
    ofText: reader.ofText,
    schema: reader.schema && { anyOf: [{ enum: words }, reader.schema] },
    read(given, option) {
      const word = words.find((one) => one === (given ?? normal));
      if (word !== undefined) return word;
      try {
        return reader.read(given, option);
      } catch (error) {
        // An option within the value has its own error.
        if (!(error instanceof Misfit) || error.problems.some(({ path }) => path !== option.path))
          throw error;
        throw misfit(option, `must be ${wanted}`, given);
      }
    },
  };
}

/** What the first of these readers reads that fits. */
export function firstFit<One extends Reader<unknown>>(
  readers: readonly One[],
  wanted: string,
): Reader<Read<One>> {
  return {
    wanted,
    schema: { anyOf: readers.map(({ schema = {} }) => schema) },
    read(given, option) {
      for (const reader of readers)
        try {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what one of them reads
          return reader.read(given, option) as Read<One>;
        } catch (error) {
          if (!(error instanceof Misfit)) throw error;
        }
      throw misfit(option, `must be ${wanted}`, given);
    },
  };
}

/** Anything: it is checked elsewhere, or by whoever uses it. */
export const unchecked: Reader<unknown> = { wanted: 'anything', read: (given) => given };

/** A text that is not empty. */
export const text = (normal?: string): Reader<string> =>
  value('a text that is not empty', (given) => (isText(given) ? given : undefined), normal, {
    schema: { type: 'string', minLength: 1 },
  });

/** A password or a key: no text of an error repeats it. */
export const secretText = (): Reader<string> => ({
  ...text(),
  read: (given, option) => secret(text().read(given, option)),
});

/** A text of this form. */
export const matching = (pattern: RegExp, wanted: string, normal?: string): Reader<string> =>
  value(wanted, (given) => (typeof given === 'string' && pattern.test(given) ? given : undefined), normal, {
    schema: { type: 'string', pattern: pattern.source },
  });

/** One of these words. */
export const oneOf = <const Word extends string>(words: readonly Word[], normal?: Word): Reader<Word> =>
  value(words.map(quoted).join(' or '), (given) => words.find((word) => word === given), normal, {
    schema: { type: 'string', enum: words },
  });

/** `true` or `false`. */
export const flag = (normal?: boolean): Reader<boolean> =>
  value('true or false', (given) => (typeof given === 'boolean' ? given : undefined), normal, {
    schema: { type: 'boolean' },
    ofText: (written) => (['true', 'false'].includes(written) ? written === 'true' : written),
  });

/** A whole number in this range, both ends included. */
export function whole(from: number, to: number | undefined, normal?: number): Reader<number> {
  const range =
    to === undefined ? `of at least ${inFigures(from)}` : `from ${inFigures(from)} to ${inFigures(to)}`;
  return value(
    `a whole number ${range}`,
    (given) => (isWhole(given) && given >= from && given <= (to ?? Infinity) ? given : undefined),
    normal,
    {
      schema: { type: 'integer', minimum: from, ...(to !== undefined && { maximum: to }) },
      // `0x10` and `1e2` are numbers for JavaScript, too.
      ofText: (written) => (/^\d+$/.test(written) ? Number(written) : written),
    },
  );
}

const durationSchema: JsonSchema = { anyOf: [{ type: 'string' }, { type: 'number' }] };

/**
 * A duration in this range, both ends included, as milliseconds; fractions of one are rounded up.
 *
 * @param to without it, 36,500 days
 */
export function duration(
  from: Duration,
  to: Duration = longestDurationMs,
  normal?: Duration,
): Reader<number> {
  const [least, most] = [msOf(from), msOf(to)];
  return value(
    `a duration of ${inWords(least)} to ${inWords(most)}`,
    (given) => {
      const read = Math.ceil(msOf(given));
      return read >= least && read <= most ? read : undefined;
    },
    normal === undefined ? undefined : msOf(normal),
    { schema: durationSchema },
  );
}

/** A function of the type `Given`, whose arguments cannot be checked. */
export const func = <Given>(): Reader<Given> =>
  value('a function', (given) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a function takes and returns is seen when it is called
    typeof given === 'function' ? (given as Given) : undefined,
  );

/** What a guard recognizes. */
export const shaped = <Value>(
  wanted: string,
  guard: (given: unknown) => given is Value,
  normal?: Value,
): Reader<Value> => value(wanted, (given) => (guard(given) ? given : undefined), normal);

const isText = (given: unknown): given is string => typeof given === 'string' && given !== '';
const isWhole = (given: unknown): given is number => typeof given === 'number' && Number.isSafeInteger(given);
const quoted = (word: string | boolean): string => (typeof word === 'string' ? `'${word}'` : String(word));
const inFigures = (count: number): string => count.toLocaleString('en');

/** `NaN` for what is no duration. */
function msOf(given: unknown): number {
  if (typeof given !== 'number' && typeof given !== 'string') return Number.NaN;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- any text may be asked about
  return durationMs(given as Duration) ?? Number.NaN;
}

function inWords(time: number): string {
  return ms(time, { long: true }).replace(/^\d+/, (count) => inFigures(Number(count)));
}
