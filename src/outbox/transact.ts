import { type Lane, laneName } from '../core/lane.ts';
import type { Sql } from '../store/database/database.ts';
import { sendNudge } from '../store/lane/nudge.ts';
import { lanesFilledBy } from './ready-lanes.ts';

/** A Prisma client, as far as {@link transaction} needs it. */
export interface TransactionRunner<Tx, Options = unknown> {
  /** Runs `work` in a transaction, which rolls back when it rejects. */
  $transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: Options): Promise<Result>;
  /** Runs one statement outside of it: the word to the relays after the commit. */
  $queryRawUnsafe<Result = unknown>(query: string, ...values: unknown[]): PromiseLike<Result>;
}

/**
 * Relays are told at most this often per client; what is committed in between rides along. At 200 commits a second a
 * longer pause would hold back every second one, half a millisecond on average.
 */
const nudgeEveryMs = 2;

/** What the next nudge of a client is to say. */
interface Nudge {
  lastAt: number;
  planned: boolean;
  /** By name. */
  lanes: Map<string, Lane>;
  /** A commit whose lanes are not known: relays have to look for themselves. */
  anywhere: boolean;
}

const nudges = new WeakMap<object, Nudge>();

type Nudging = Pick<TransactionRunner<never>, '$queryRawUnsafe'>;

/**
 * Runs `work` in a transaction and, after the commit, wakes the relays, so that messages leave within a few
 * milliseconds instead of at the relay's next look.
 *
 * A lost wake-up delays a message by at most 100 ms. Nothing is sent when the transaction is rolled back. `$transaction`
 * of the client is as safe: its messages leave at the relay's next look.
 *
 * @param options handed on to `$transaction`: isolation level, timeouts
 */
export async function transaction<Tx, Result, Options>(
  prisma: TransactionRunner<Tx, Options>,
  work: (tx: Tx) => Promise<Result>,
  options?: Options,
): Promise<Result> {
  let filled: readonly Lane[] = [];
  const result = await prisma.$transaction(async (tx) => {
    const answer = await work(tx);
    filled = lanesFilledBy(tx);
    return answer;
  }, options);
  nudge(prisma, filled);
  return result;
}

/** Never awaited and never failing: the commit stands whether or not a relay hears of it. */
function nudge(prisma: Nudging, filled: readonly Lane[]): void {
  const next = nudges.get(prisma) ?? { lastAt: 0, planned: false, lanes: new Map(), anywhere: false };
  nudges.set(prisma, next);
  for (const lane of filled) next.lanes.set(laneName(lane), lane);
  if (filled.length === 0) next.anywhere = true;
  if (next.planned) return;
  const waitMs = next.lastAt + nudgeEveryMs - performance.now();
  if (waitMs <= 0) {
    notify(prisma, next);
    return;
  }
  next.planned = true;
  setTimeout(() => notify(prisma, next), waitMs).unref();
}

function notify(prisma: Nudging, next: Nudge): void {
  const lanes = next.anywhere ? [] : [...next.lanes.values()];
  Object.assign(next, { lastAt: performance.now(), planned: false, lanes: new Map(), anywhere: false });
  const sql: Sql = { query: async (text, values = []) => prisma.$queryRawUnsafe(text, ...values) };
  void sendNudge(sql, lanes).catch(() => undefined);
}
