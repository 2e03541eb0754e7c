import { judged, type Reader } from './reader.ts';

/** A value, or a function that returns it when it is needed, such as `env('NAME')`. */
export type Lazy<Value> = Value | (() => Value);

/**
 * A {@link Lazy} value, as a function that returns it. A value is read at once. A function is called, and what it returns is
 * read, at every call; if it will not do, an OutboxError says so.
 *
 * @param normal returned if the option is not given; without it the option is required. A function that returns `undefined`
 * is refused all the same: a variable that is missing must not turn TLS off.
 */
export function lazy<Value>(reader: Reader<Value>, normal?: Value): Reader<() => Value> {
  return {
    wanted: reader.wanted,
    read(given, option) {
      if (isLate(given)) return () => judged(option.refuse, () => reader.read(given(), option));
      const value = given === undefined && normal !== undefined ? normal : reader.read(given, option);
      return () => value;
    },
  };
}

/** A value, which is read at once, or a function, which is left to whoever calls it. Both are returned as they were given. */
export function callable<Given>(reader: Reader<unknown>): Reader<Given> {
  return {
    wanted: `${reader.wanted}, or a function that returns it`,
    read(given, option) {
      if (!isLate(given)) reader.read(given, option);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has been read, or will be by its caller
      return given as Given;
    },
  };
}

function isLate<Value>(given: Lazy<Value>): given is () => Value {
  return typeof given === 'function';
}
