/** Of the errors of an AggregateError, which may contain itself. */
const deepest = 3;
const most = 10;

/** What is said of a value whose text cannot be read. */
const untold = 'a value without a text';

/**
 * The text of any thrown value. Of an error without one: those of the addresses that Node has tried, or its name.
 *
 * It never throws: a value may have no prototype, or getters that throw, and recording a failure must not fail.
 */
export function reasonOf(thrown: unknown): string {
  return told(() => reasonWithin(thrown, deepest));
}

function reasonWithin(thrown: unknown, depth: number): string {
  if (thrown instanceof AggregateError && depth > 0) {
    const errors = thrown.errors.slice(0, most);
    return [...new Set(errors.map((one) => told(() => reasonWithin(one, depth - 1))))].join('; ');
  }
  if (!(thrown instanceof Error)) return textOf(thrown);
  return textOf(thrown.message === '' ? thrown.name : thrown.message);
}

/** The same with the name of the error before it, for operators. It never throws either. */
export function namedReasonOf(thrown: unknown): string {
  return told(() =>
    thrown instanceof Error ? `${textOf(thrown.name)}: ${textOf(thrown.message)}` : textOf(thrown),
  );
}

/** `String` of any value, also of one for which that throws. */
export function textOf(value: unknown): string {
  return told(
    // oxlint-disable-next-line typescript/no-base-to-string -- it is tried
    () => String(value),
    () => messageIn(value),
  );
}

/** Parsers and clients of servers throw objects without a prototype. */
function messageIn(value: unknown): string {
  const message: unknown = typeof value === 'object' && value !== null && Reflect.get(value, 'message');
  return typeof message === 'string' ? message : untold;
}

/** The code of an error as text, if it has one: a name, or a number; `''` otherwise. */
export function codeTextOf(error: unknown): string {
  return told(
    () => {
      if (typeof error !== 'object' || error === null || !('code' in error)) return '';
      return typeof error.code === 'string' || typeof error.code === 'number' ? `${error.code}` : '';
    },
    () => '',
  );
}

/**
 * What a handler has thrown, if it can be read; otherwise an error that says so. A proxy may refuse even the question for its
 * class, and every reader of errors, also those of users and of OpenTelemetry, would have to expect that.
 */
export function readable(thrown: unknown): unknown {
  if (thrown === null || (typeof thrown !== 'object' && typeof thrown !== 'function')) return thrown;
  try {
    if (thrown instanceof Error) for (const name of properties) Reflect.get(thrown, name);
    // oxlint-disable-next-line typescript/no-base-to-string -- it is tried
    String(thrown);
    for (const name of Object.keys(thrown)) Reflect.get(thrown, name);
    return thrown;
  } catch {
    return new Error(textOf(thrown));
  }
}

/** Of errors; what they enumerate is read as well. */
const properties = ['name', 'message', 'stack', 'cause', 'code'];

function told(...readers: readonly (() => string)[]): string {
  for (const read of readers) {
    try {
      return read();
    } catch {
      // The next one is asked.
    }
  }
  return untold;
}
