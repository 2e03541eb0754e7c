import { verdictOf } from '../verdict.ts';

/**
 * What an error says about the database between us and it, whatever the message is.
 *
 * - `conflict`: another transaction was in the way; the same try may well succeed at once.
 * - `away`: nobody can work there just now, or no connection was to be had.
 */
export type Fault = 'conflict' | 'away';

/** SQLSTATEs, their classes, and codes of Prisma for what has none. */
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

/** What drivers throw without a code. */
const byText: readonly (readonly [RegExp, Fault])[] = [
  [/^Client has encountered a connection error/, 'away'],
  [/^Connection terminated/, 'away'],
  [/^timeout exceeded when trying to connect/, 'away'],
  // Of all that Prisma calls P2028; a transaction that takes too long is its handler's.
  [/Unable to start a transaction in the given time/, 'away'],
];

/** An error, and what Prisma and its drivers wrap. */
interface Layer {
  readonly code?: unknown;
  readonly originalCode?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly meta?: { readonly driverAdapterError?: unknown } | null;
}

const maxLayers = 10;

/**
 * The fault of the database that this error tells of; `undefined`: it is the message's, or its handler's.
 *
 * A wait for a lock and a statement that took too long are the handler's: others may well go on. So is what a handler has
 * given a verdict about, whatever its cause.
 */
export function faultOf(error: unknown): Fault | undefined {
  if (verdictOf(error) !== undefined) return undefined;
  for (const { code, message, originalCode } of layersOf(error)) {
    const fault = faultOfCode(originalCode) ?? faultOfCode(code) ?? faultOfText(message);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** True when the server has refused a statement because another one of its transaction had failed. */
export function saysAborted(error: unknown): boolean {
  return layersOf(error).some(({ code, originalCode }) => code === '25P02' || originalCode === '25P02');
}

function layersOf(error: unknown): readonly Layer[] {
  const layers: unknown[] = [error];
  const found: Layer[] = [];
  for (let n = 0; n < Math.min(layers.length, maxLayers); n += 1) {
    const layer = layers[n];
    if (typeof layer !== 'object' || layer === null) continue;
    const { cause, meta }: Layer = layer;
    found.push(layer);
    layers.push(meta?.driverAdapterError, cause);
  }
  return found;
}

function faultOfCode(code: unknown): Fault | undefined {
  if (typeof code !== 'string' || code.length !== 5) return undefined;
  return byCode[code] ?? byCode[code.slice(0, 3)] ?? byCode[code.slice(0, 2)];
}

function faultOfText(text: unknown): Fault | undefined {
  return typeof text === 'string' ? byText.find(([pattern]) => pattern.test(text))?.[1] : undefined;
}
