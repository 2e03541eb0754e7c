import { inspect } from 'node:util';
import { OutboxError } from '../core/errors.ts';

/**
 * Where troubles go: pino, `console`, and whatever else takes an object and then a text.
 *
 * `facts` are plain JSON: `component` (`temporal-outbox relay` or `temporal-outbox consumer`), `group` of a consumer, `event`, the
 * fields of that event, and of an error its text as `error`, with `code` and `next` where it is one of this library. pino writes
 * them as fields of its line; `console` shows them as one line of JSON before the message.
 *
 * `warn`: it is tried again, or passes by itself. `error`: it does not without a person. What it throws is dropped.
 */
export interface Logger {
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** One trouble, as it is told. */
export interface Trouble {
  readonly level: 'warn' | 'error';
  readonly facts: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** The logger for which nobody gave another: one line of JSON per trouble. */
const standardError: Logger = {
  warn: (facts, message) => writeLine('warn', facts, message),
  error: (facts, message) => writeLine('error', facts, message),
};

function writeLine(level: Trouble['level'], facts: object, message: string): void {
  process.stderr.write(
    `${JSON.stringify({ time: new Date().toISOString(), level, ...facts, msg: message })}\n`,
  );
}

/**
 * Hands troubles to what the option `logger` says; `undefined`: to nobody.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function troublesTo(given: Logger | false = standardError): ((trouble: Trouble) => void) | undefined {
  if (given === false) return undefined;
  if (typeof given?.warn !== 'function' || typeof given.error !== 'function') {
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      'The option "logger" is neither false nor an object with the methods warn and error, as pino and console are.',
      { details: { option: 'logger' } },
    );
  }
  return ({ level, facts, message }) => {
    try {
      given[level](inOneLine(facts), message);
    } catch {
      // A broken logger must neither fail a message that is committed nor stop a lane.
    }
  };
}

/** `console` would show an object of some length in several lines, which collectors of logs take for several entries. */
function inOneLine(facts: object): object {
  const shown = { ...facts };
  Object.defineProperty(shown, inspect.custom, { value: () => JSON.stringify(facts), enumerable: false });
  return shown;
}
