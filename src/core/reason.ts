import { withCauses } from './cause.ts';
import { causesOf } from './cause-chain.ts';
import { withoutSecrets } from './secrets.ts';

/** Of an AggregateError, and of all that wrap each other. */
const mostErrors = 10;
const mostTold = 30;

/** What is said of a value whose text cannot be read. */
const untold = 'a value without a text';

/** A user and a password in a URL that a text quotes. */
const userOfUrl = /:\/\/[^\s/?#]*@/g;

/**
 * The text of any thrown value, with those of its causes: clients say "fetch failed" of a server that is away, and the cause says
 * which. Of an error without a text: those of the addresses that Node has tried, or its name. No user and password of a URL, and
 * no secret that was read.
 *
 * It never throws: a value may have no prototype, or getters that throw, and recording a failure must not fail.
 */
export function reasonOf(thrown: unknown): string {
  return withoutSecrets(told(() => reasonWithin(thrown, new Set())));
}

/** The same without the causes. */
export function ownReasonOf(thrown: unknown): string {
  return withoutSecrets(told(() => ownWithin(thrown, new Set())));
}

/** The same as {@link reasonOf} with the name of the error before it, for operators. It never throws either. */
export function namedReasonOf(thrown: unknown): string {
  return withoutSecrets(told(() => namedReason(thrown)));
}

function namedReason(thrown: unknown): string {
  if (!(thrown instanceof Error)) return reasonWithin(thrown, new Set());
  const seen = new Set<unknown>([thrown]);
  const errors = errorsIn(thrown, seen);
  const own = textOf(thrown.message);
  const said = own === '' || errors === '' ? own + errors : `${own}: ${errors}`;
  return `${textOf(thrown.name)}: ${withItsCauses(thrown, said, seen)}`;
}

/** @param seen errors that have been named: they may wrap each other, or themselves */
function reasonWithin(thrown: unknown, seen: Set<unknown>): string {
  return withItsCauses(thrown, ownWithin(thrown, seen), seen);
}

function ownWithin(thrown: unknown, seen: Set<unknown>): string {
  seen.add(thrown);
  if (!(thrown instanceof Error)) return textOf(thrown);
  const errors = errorsIn(thrown, seen);
  if (errors !== '') return errors;
  return textOf(thrown.message === '' ? thrown.name : thrown.message);
}

/** Those of the addresses that Node has tried, for example. */
function errorsIn(thrown: Error, seen: Set<unknown>): string {
  if (!(thrown instanceof AggregateError)) return '';
  const texts = new Set<string>();
  for (const one of thrown.errors.slice(0, mostErrors))
    if (!seen.has(one) && seen.size < mostTold) texts.add(told(() => reasonWithin(one, seen)));
  return [...texts].join('; ');
}

function withItsCauses(thrown: unknown, said: string, seen: Set<unknown>): string {
  const causes = causesOf(thrown, said, seen, (cause) => told(() => ownWithin(cause, seen)));
  return withCauses(said, causes).replaceAll(userOfUrl, '://');
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
