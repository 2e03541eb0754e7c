import { shared } from '../../core/shared.ts';
/** The failed operations of one Prisma client, in all of its transactions. */
export interface FailedOperations {
  readonly count: number;
}

/** The part of a client that its transactions expose; there is no public getter. */
interface Told {
  readonly _clientVersion?: unknown;
  readonly _engineConfig?: { readonly logEmitter?: unknown };
}

interface Emitter {
  on(event: 'error', listener: () => void): unknown;
}

/** Counters by emitter. Each adds one listener to its client, for as long as the client lives. */
const counters = shared('failed-operations', () => new WeakMap<object, FailedOperations>());

/**
 * Counts the failed operations of the client to which this transaction of Prisma belongs; `undefined`: they cannot be counted.
 *
 * Prisma emits `error` for every operation that its engine refuses, whether it is logged or not, also for those below an
 * extension. A query extension would see the same, but it is called for every operation of a handler; asking the database
 * costs each message a round trip. The client is that of the transaction, because a wrapper may choose one each time.
 */
export function failedOperationsOf(tx: object): FailedOperations | undefined {
  const { _engineConfig: config, _clientVersion: version }: Told = tx;
  const emitter = config?.logEmitter;
  if (!isEmitter(emitter)) return undefined;
  const known = counters.get(emitter);
  if (known !== undefined) return known;
  if (typeof version !== 'string' || !tellsFailures(version)) return undefined;
  const counter = { count: 0 };
  emitter.on('error', () => {
    counter.count += 1;
  });
  counters.set(emitter, counter);
  return counter;
}

/** True for versions that are known to emit; for clients of others, the database is asked. */
export function tellsFailures(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return (major === 6 && minor >= 19) || (major === 7 && minor <= newestKnownMinor);
}

const newestKnownMinor = 10;

function isEmitter(value: unknown): value is Emitter {
  return typeof value === 'object' && value !== null && 'on' in value && typeof value.on === 'function';
}
