import { inspect } from 'node:util';
import { OutboxError } from '../core/errors.ts';

/**
 * A logger of troubles: pino, `console`, or anything else that takes an object and then a text.
 *
 * `facts` are plain JSON: `component` (`temporal-outbox relay`, `temporal-outbox consumer` or `temporal-outbox api`), the `group` of a consumer,
 * `event`, the fields of that event, and the text of an error as `error`, with `code` and `next` if it is an error of this
 * library, and with `stack`, at most five frames, if a handler threw it. pino writes them as fields of its line; `console` shows them as one line of JSON before the message.
 *
 * `warn`: it is retried, or passes by itself. `error`: it needs a person. What a logger throws is dropped.
 */
export interface Logger {
  /** Logs a trouble that is retried, or passes by itself. */
  warn(facts: object, message: string): void;
  /** Logs a trouble that needs a person. */
  error(facts: object, message: string): void;
}

/** One trouble, as it is logged. */
export interface Trouble {
  readonly level: 'warn' | 'error';
  readonly facts: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/**
 * A line of a log, the same in every process of this library: `time` (ISO, UTC), `level` (`info`, `warn` or `error`), `component`,
 * `event`, `message`, then the facts.
 */
export interface LogLine {
  readonly time: string;
  readonly level: 'info' | Trouble['level'];
  readonly message: string;
  readonly [fact: string]: unknown;
}

/** The line of something that happens now. `facts` have its `component` and `event`. */
export function logLine(level: LogLine['level'], facts: object, message: string): LogLine {
  const own = { time: new Date().toISOString(), level, component: undefined, event: undefined, message };
  // Its own fields first, and no fact may replace them.
  return { ...own, ...facts, time: own.time, level, message };
}

/** The default logger: one line of JSON per trouble. */
const standardError: Logger = {
  warn: (facts, message) => writeLine('warn', facts, message),
  error: (facts, message) => writeLine('error', facts, message),
};

function writeLine(level: Trouble['level'], facts: object, message: string): void {
  process.stderr.write(`${JSON.stringify(logLine(level, facts, message))}\n`);
}

/**
 * Passes troubles to the logger of the option `logger`; `undefined` if the option is false.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function troublesTo(given: Logger | false = standardError): ((trouble: Trouble) => void) | undefined {
  if (given === false) return undefined;
  if (typeof given?.warn !== 'function' || typeof given.error !== 'function') {
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      'The option "logger" must be false or an object with the methods warn and error, as pino and console are.',
      { details: { option: 'logger' } },
    );
  }
  return ({ level, facts, message }) => {
    try {
      given[level](inOneLine(facts), message);
    } catch {
      // A faulty logger must neither fail a message that is committed nor stop a lane.
    }
  };
}

/** `console` would print a long object on several lines, which log collectors take for several entries. */
function inOneLine(facts: object): object {
  const shown = { ...facts };
  Object.defineProperty(shown, inspect.custom, { value: () => JSON.stringify(facts), enumerable: false });
  return shown;
}
