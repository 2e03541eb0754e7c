import { OutboxError } from '../errors.ts';
import {
  type JsonSchema,
  Misfit,
  misfit,
  type Option,
  type Problem,
  type Read,
  type Reader,
} from './reader.ts';

/** A reader for every option of an object. `satisfies Table<Options>` makes the compiler demand that none is missing. */
export type Table<Options> = Readonly<Record<keyof Options, Reader<unknown>>>;

/** What the readers of a table read. */
export type ReadTable<Of extends Readonly<Record<string, Reader<unknown>>>> = {
  readonly [Name in keyof Of]: Read<Of[Name]>;
};

/** True for anything that has keys. */
export const isObject = (given: unknown): given is object => typeof given === 'object' && given !== null;

/** What a table reads without the options that are not given. */
export type SparseTable<Of extends Readonly<Record<string, Reader<unknown>>>> = {
  readonly [Name in keyof Of as undefined extends Read<Of[Name]> ? never : Name]: Read<Of[Name]>;
} & {
  readonly [Name in keyof Of as undefined extends Read<Of[Name]> ? Name : never]?: Exclude<
    Read<Of[Name]>,
    undefined
  >;
};

/**
 * An object with the options of a table; any other is refused, because a misspelt one would have no effect.
 *
 * @param wanted as of {@link Reader}
 * @param former names of options that earlier versions had, and whose default now always applies
 */
export function object<Of extends Readonly<Record<string, Reader<unknown>>>>(
  table: Of,
  wanted = 'an object',
  former: readonly string[] = [],
): Reader<ReadTable<Of>> {
  const names = Object.keys(table);
  return {
    wanted,
    get schema() {
      return objectSchema(table);
    },
    read(given, option) {
      if (!isObject(given) || Array.isArray(given)) throw misfit(option, `must be ${wanted}`);
      const read = eachOf(
        Object.entries(table),
        ([name, reader]) => [name, reader.read(Reflect.get(given, name), within(option, name))],
        unknownIn(given, names, option, former),
      );
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a value of every reader, by its name
      return Object.fromEntries(read) as ReadTable<Of>;
    },
  };
}

/** The same without the options that are not given, for what tells an option that is missing from one that is not. */
export function sparse<Of extends Readonly<Record<string, Reader<unknown>>>>(
  table: Of,
  wanted?: string,
): Reader<SparseTable<Of>> {
  const reader = object(table, wanted);
  return {
    ...reader,
    read(given, option) {
      const read = Object.entries(reader.read(given, option)).filter(([, value]) => value !== undefined);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the values that the table has read, but for missing ones
      return Object.fromEntries(read) as SparseTable<Of>;
    },
  };
}

function objectSchema(table: Readonly<Record<string, Reader<unknown>>>): JsonSchema {
  const entries = Object.entries(table);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, { schema = {} }]) => [name, schema])),
    required: entries.filter(([, reader]) => isRequired(reader)).map(([name]) => name),
    additionalProperties: false,
  };
}

/** Nothing is read late while no value is given. */
const nowhere: Option = {
  path: '',
  refuse: ([problem]) => new OutboxError('OUTBOX_OPTION_INVALID', problem?.what ?? ''),
};

/** True if nothing is read of an option that is not given. */
export function isRequired(reader: Reader<unknown>): boolean {
  try {
    reader.read(undefined, nowhere);
    return false;
  } catch (error) {
    if (error instanceof Misfit) return true;
    throw error;
  }
}

/** The options of `given` that are not known. @param former as of {@link object} */
export function unknownIn(
  given: object,
  names: readonly string[],
  option: Option,
  former: readonly string[] = [],
): Problem[] {
  return Object.keys(given)
    .filter((name) => !names.includes(name))
    .map((name) => ({
      path: within(option, name).path,
      ...(former.includes(name)
        ? { what: 'is gone: its former default always applies' }
        : { what: 'is unknown', instead: `use one of ${[...new Set(names)].join(', ')}` }),
    }));
}

/** An object with any names, whose values are read alike. */
export function recordOf<Value>(
  reader: Reader<Value>,
  wanted: string,
): Reader<Readonly<Record<string, Value>>> {
  return {
    wanted,
    schema: { type: 'object', additionalProperties: reader.schema ?? {} },
    read(given, option) {
      if (!isObject(given) || Array.isArray(given)) throw misfit(option, `must be ${wanted}`);
      return Object.fromEntries(
        eachOf(Object.entries(given), ([name, value]: readonly [string, unknown]) => [
          name,
          reader.read(value, within(option, name)),
        ]),
      );
    },
  };
}

/** @param sizes without it, a list may have any length */
export function listOf<Value>(
  reader: Reader<Value>,
  wanted: string,
  { least = 0, most = Infinity }: { readonly least?: number; readonly most?: number } = {},
): Reader<readonly Value[]> {
  return {
    wanted,
    schema: {
      type: 'array',
      items: reader.schema ?? {},
      ...(least > 0 && { minItems: least }),
      ...(most < Infinity && { maxItems: most }),
    },
    read(given, option) {
      if (!isList(given) || given.length < least || given.length > most)
        throw misfit(option, `must be ${wanted}`);
      return eachOf([...given.entries()], ([index, value]) =>
        reader.read(value, { ...option, path: `${option.path}[${index}]` }),
      );
    },
  };
}

function within(option: Option, name: string): Option {
  return { ...option, path: option.path === '' ? name : `${option.path}.${name}` };
}

/** @throws Misfit with the problems of all, so that one error has them, after those that are known already */
function eachOf<One, Value>(
  all: readonly One[],
  read: (one: One) => Value,
  known: readonly Problem[] = [],
): readonly Value[] {
  const problems = [...known];
  const values = all.flatMap((one) => {
    try {
      return [read(one)];
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      problems.push(...error.problems);
      return [];
    }
  });
  if (problems.length > 0) throw new Misfit(problems);
  return values;
}

const isList = (given: unknown): given is readonly unknown[] => Array.isArray(given);
