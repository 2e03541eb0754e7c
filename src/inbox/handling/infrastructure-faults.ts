import { layersOf } from '../../core/error-layers.ts';
import { verdictOf } from '../verdict.ts';

/**
 * A fault of the database or of the connection to it, independent of the message.
 *
 * - `conflict`: a conflict with another transaction; an immediate retry may succeed.
 * - `away`: the database is unavailable, or there was no connection.
 */
export type Fault = 'conflict' | 'away';

/** By SQLSTATE, SQLSTATE class or Prisma error code. */
const byCode: Readonly<Record<string, Fault>> = {
  '08': 'away', // connection exceptions
  '25006': 'away', // a primary that became a standby
  '25P03': 'away', // idle in a transaction for too long: this process was frozen
  '25P04': 'away', // the server's limit for transactions
  '40001': 'conflict', // serialization failure
  '40P01': 'conflict', // deadlock
  '53': 'away', // too many connections, disk full, out of memory
  '57P': 'away', // shutdown, crash, start
  '58': 'away', // input and output
  P1001: 'away', // cannot be reached
  P1002: 'away', // reached, but timed out
  P1008: 'away', // socket timeout
  P1017: 'away', // the server closed the connection
  P2024: 'away', // no connection of the pool, before Prisma 7
  P2034: 'conflict',
  P2037: 'away', // too many connections
};

/** Errors of drivers without a code. */
const byText: readonly (readonly [RegExp, Fault])[] = [
  [/^Client has encountered a connection error/, 'away'],
  [/^Connection terminated/, 'away'],
  [/^timeout exceeded when trying to connect/, 'away'],
  // Of all that Prisma calls P2028; a transaction that takes too long is its handler's.
  [/Unable to start a transaction in the given time/, 'away'],
];

/**
 * The database fault behind an error; `undefined`: the message or its handler caused it.
 *
 * Lock and statement timeouts count as the handler's, because other messages may succeed. So does any error for which a
 * handler gave a verdict, whatever its cause.
 */
export function faultOf(error: unknown): Fault | undefined {
  if (verdictOf(error) !== undefined) return undefined;
  for (const { code, message, originalCode } of layersOf(error)) {
    const fault = faultOfCode(originalCode) ?? faultOfCode(code) ?? faultOfText(message);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** True when the server refused a statement because an earlier one of its transaction had failed. */
export function saysAborted(error: unknown): boolean {
  return layersOf(error).some(({ code, originalCode }) => code === '25P02' || originalCode === '25P02');
}

function faultOfCode(code: unknown): Fault | undefined {
  if (typeof code !== 'string' || code.length !== 5) return undefined;
  return byCode[code] ?? byCode[code.slice(0, 3)] ?? byCode[code.slice(0, 2)];
}

function faultOfText(text: unknown): Fault | undefined {
  return typeof text === 'string' ? byText.find(([pattern]) => pattern.test(text))?.[1] : undefined;
}
