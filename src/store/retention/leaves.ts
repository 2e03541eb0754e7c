import type { Database, Sql } from '../database/database.ts';
import { readArchivableLanes } from './archive.ts';
import {
  archiveLeaf,
  clearLeaf,
  dropLeaf,
  isLeafOld,
  isLeafPassed,
  isOver,
  type LeafPace,
  passLeaf,
  sealLeaf,
} from './leaf.ts';

// The life of a leaf of the log: current, closed, sealed (nobody can write to it any more), passed (every lane has published its
// messages there, and claims read it no longer), archived, dropped. No step moves a row. A step that is not possible yet, or whose
// lock somebody keeps, is left to the next round: meanwhile claims read one more leaf, or a list shows more messages.

/** When a leaf goes to its next step. */
export interface LeafRules {
  /** How long a leaf is the current one. */
  readonly leafMs: number;
  readonly archiveAfterMs: number;
  /** The same for messages that a dead owner may have seen. */
  readonly suspectAgeMs: number;
  readonly historyMs: number;
}

/** What a round did. */
export interface MovedLeaves {
  /** Number of messages in the leaves that it archived. */
  readonly archived: number;
  /** Number of leaves that it dropped. */
  readonly dropped: number;
  /** Number of leaves that it left because somebody kept a lock on them. */
  readonly inUse: number;
}

const untilDone: LeafPace = { signal: new AbortController().signal, progress: () => undefined };

/** So many closed leaves may wait for their lanes; each costs every claim some microseconds. */
const mostClosed = 8;

/**
 * Takes every leaf as far as it can go now, or until it is stopped. A leaf that fails does not hold up the others; the first error is thrown
 * at the end.
 */
export async function moveLeaves(
  database: Database,
  rules: LeafRules,
  pace: LeafPace = untilDone,
): Promise<MovedLeaves> {
  const failures: unknown[] = [];
  const each = async (leaves: readonly Leaf[], step: (leaf: Leaf, index: number) => Promise<void>) => {
    for (const [index, leaf] of leaves.entries()) {
      if (isOver(pace)) return;
      await step(leaf, index).catch((error: unknown) => failures.push(error));
    }
  };
  await closeOld(database, rules.leafMs);
  const moved = { archived: 0, dropped: 0, inUse: 0 };
  const closed = await readLeaves(database, 'closed_at is not null and messages is null');
  await each(closed, async ({ n }, index) => {
    if (!(await sealLeaf(database, n))) return;
    if (index < closed.length - mostClosed) await clearLeaf(database, n, pace);
    if ((await isLeafPassed(database, n)) && !(await passLeaf(database, n))) moved.inUse += 1;
  });
  const lanes = await readArchivableLanes(database, rules.archiveAfterMs, rules.suspectAgeMs);
  const old = `${older('newest_at')} and archived_at is null`;
  await each(await readLeaves(database, old, rules.archiveAfterMs), async ({ n, messages }) => {
    if (!(await isLeafOld(database, n, lanes))) return;
    const step = await archiveLeaf(database, n);
    if (step === 'done') moved.archived += messages;
    if (step === 'in-use') moved.inUse += 1;
  });
  await each(await readLeaves(database, older('archived_at'), rules.historyMs), async ({ n }) => {
    const step = await dropLeaf(database, n);
    if (step === 'done') moved.dropped += 1;
    if (step === 'in-use') moved.inUse += 1;
  });
  if (failures.length > 0) throw failures[0];
  return moved;
}

interface Leaf {
  /** Number of its table, `outbox.log_<n>`. */
  readonly n: string;
  readonly messages: number;
}

const older = (column: string): string => `${column} <= outbox.clock() - $1 * interval '1 ms'`;

/** The leaves for which a condition holds, the oldest first. */
function readLeaves(sql: Sql, condition: string, ageMs?: number): Promise<readonly Leaf[]> {
  return sql.query<Leaf>(
    `select n, coalesce(messages, 0)::float8 as messages from outbox.leaf where ${condition} order by n`,
    ageMs === undefined ? [] : [ageMs],
  );
}

/**
 * Opens the next leaf if the current one has served its time. An empty one goes on, as if it were new.
 *
 * Batches are deleted by the time at which the first leaf was opened, so that time must not pass a batch with messages of its leaf. One
 * statement asks and writes: its time is from before its snapshot, and a message that it does not see is published later.
 */
async function closeOld(database: Database, leafMs: number): Promise<void> {
  const [old] = await readLeaves(database, `closed_at is null and ${older('opened_at')}`, leafMs);
  if (old === undefined) return;
  const renewed = await database.query(
    `update outbox.leaf set opened_at = outbox.clock()
     where n = $1 and closed_at is null and not exists (select from outbox.log_${old.n}) returning n`,
    [old.n],
  );
  if (renewed.length > 0) return;
  // Two transactions: see outbox.next_leaf.
  await database.query('select outbox.create_leaf($1::bigint + 1)', [old.n]);
  await database.query('select outbox.next_leaf($1)', [old.n]);
}
