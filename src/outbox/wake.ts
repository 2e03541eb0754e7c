import { OutboxError } from '../core/errors.ts';
import { type Lane, laneName } from '../core/lane.ts';
import { shared } from '../core/shared.ts';
import { startTimer } from '../core/timer.ts';
import type { Sql } from '../store/database/database.ts';
import { requirePostgres } from '../store/database/foreign-client.ts';
import { sendNudge } from '../store/lane/nudge.ts';

/** Runs one statement with `$1`-style values. */
export type RunQuery = (text: string, values: unknown[]) => PromiseLike<unknown>;

/** A Prisma client, extended or not, or a pool wrapped by `clientOf`; not the `tx` of a transaction. */
export interface RootClient {
  /** Distinguishes it from a transaction. */
  $connect(): PromiseLike<unknown>;
  /** Runs one statement with `$1`-style values, outside of any transaction. */
  $queryRawUnsafe<Result = unknown>(query: string, ...values: unknown[]): PromiseLike<Result>;
}

/** Runs a statement with `query`, outside of any transaction: a pool of `pg`, a `DataSource` of TypeORM. */
export interface QueryRunner {
  /** Runs one statement with `$1`-style values. */
  query(text: string, values: unknown[]): PromiseLike<unknown>;
  /** Only a connection has it, and is refused. */
  readonly release?: 'Pass the pool instead of one of its connections, which may be in a transaction, or already in use by another one.';
  /** Only a transaction of `clientOf` has it beside `query`, and is refused. */
  readonly $queryRawUnsafe?: 'Pass the client or its pool instead of a transaction: within it, commits would wait for each other.';
}

/** How {@link wake} reaches the database: a client, a pool, or a function that runs one statement. */
export type Waker = RootClient | QueryRunner | RunQuery;

/**
 * Minimum time between two nudges of a client; the next one covers all commits in between. At 200 commits a second a longer
 * pause would delay every second one, by half a millisecond on average.
 */
const nudgeEveryMs = 2;

/** The content of a client's next nudge. */
interface Nudge {
  lastAt: number;
  planned: boolean;
  /** By name. */
  lanes: Map<string, Lane>;
  /** There was a commit whose lanes are unknown: relays must look at all. */
  anywhere: boolean;
}

const nudges = shared('nudges', () => new WeakMap<object, Nudge>());

/**
 * Wakes the relays after the commit of a transaction that you opened yourself, so that its messages are sent within a few
 * milliseconds instead of at a relay's next look. `transaction` does this by itself.
 *
 * Nothing depends on it: a message whose wake-up is forgotten, or lost with a connection, is sent within 100 ms. It returns at
 * once, and ignores failures of the database. However often it is called, it queries the database at most once in 2 ms per
 * object or function: so pass the same one each time. Before the commit it has no effect on the message, and within the
 * transaction it would make commits wait for each other.
 *
 * @param through the Prisma client; a pool of `pg`; a `DataSource` of TypeORM; or a function that runs one statement with
 * `$1`-style values. Never a part of a transaction
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for anything else, including a Prisma transaction and a connection of a pool;
 * `OUTBOX_CLIENT_UNFIT` for a client of another database
 * @example
 * await prisma.$transaction((tx) => send(tx, orderPlaced, { orderId }));
 * wake(prisma);
 */
export function wake(through: Waker): void {
  nudge(through, runQueryOf(through, 'wake'), []);
}

/** Never awaited, and never fails: the commit is valid whether or not a relay is woken. */
export function nudge(by: object, run: RunQuery, filled: readonly Lane[]): void {
  const next = nudges.get(by) ?? { lastAt: 0, planned: false, lanes: new Map(), anywhere: false };
  nudges.set(by, next);
  for (const lane of filled) next.lanes.set(laneName(lane), lane);
  if (filled.length === 0) next.anywhere = true;
  if (next.planned) return;
  const waitMs = next.lastAt + nudgeEveryMs - performance.now();
  if (waitMs <= 0) {
    notify(run, next);
    return;
  }
  next.planned = true;
  startTimer(() => notify(run, next), waitMs).unref();
}

function notify(run: RunQuery, next: Nudge): void {
  const lanes = next.anywhere ? [] : [...next.lanes.values()];
  Object.assign(next, { lastAt: performance.now(), planned: false, lanes: new Map(), anywhere: false });
  const sql: Sql = {
    query: async (text, values = []) => {
      await run(text, [...values]);
      return [];
    },
  };
  void sendNudge(sql, lanes).catch(() => undefined);
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID`, which names the caller; `OUTBOX_CLIENT_UNFIT` */
export function runQueryOf(through: Waker, caller: string): RunQuery {
  if (typeof through === 'function') return through;
  const given: unknown = through;
  if (typeof given !== 'object' || given === null) throw noWaker(caller);
  requirePostgres(given);
  if (isRootClient(through)) return (text, values) => through.$queryRawUnsafe(text, ...values);
  if (isPool(through)) return (text, values) => through.query(text, values);
  throw noWaker(caller);
}

function noWaker(caller: string): OutboxError {
  return new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `${caller} takes a client, a pool, or a function that runs one statement; never a part of a transaction.`,
    { details: { option: 'through' } },
  );
}

function isRootClient(through: object): through is RootClient {
  return '$queryRawUnsafe' in through && '$connect' in through && typeof through.$connect === 'function';
}

function isPool(through: object): through is QueryRunner {
  const ofTransaction = 'release' in through || '$queryRawUnsafe' in through;
  return 'query' in through && typeof through.query === 'function' && !ofTransaction;
}
