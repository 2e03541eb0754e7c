import { laneName } from '../../core/lane.ts';
import type { Database, Sql } from '../database/database.ts';
import { runningTransactions } from '../lane/lanes-switch.ts';
import type { ArchivableLane } from './archive.ts';
import { inBriefLock } from './brief-lock.ts';

// The steps of one leaf of the log, the table `outbox.log_<n>`. `false`: somebody keeps a lock on it.

/** Of the round that it is part of. */
export interface LeafPace {
  readonly signal: AbortSignal;
  /** Called after every leaf, and page of one. */
  readonly progress: () => void;
}

/** Tells that it goes on. @returns whether it is to stop */
export function isOver({ progress, signal }: LeafPace): boolean {
  progress();
  return signal.aborted;
}

/** Of a leaf in a round, and of one transaction. */
const mostCleared = 100_000;
const clearedAtOnce = 1_000;
/** To count so much takes a tenth of a second. Of a larger leaf these pages are counted. */
const mostCountedBytes = 64 * 1_024 * 1_024;
const sampledPages = 256;

/**
 * Whether no new writer can come to a closed leaf: every transaction that ran after it was closed has ended, or is prepared. One of them
 * may have the functions that write to this leaf, without having called them yet.
 */
export async function sealLeaf(database: Database, n: string): Promise<boolean> {
  return database.transaction(async (sql) => {
    // Until the lock is free, the functions of the next leaf may still be unknown to others, who begin after this has been asked.
    await sql.query(`select pg_advisory_xact_lock(hashtextextended('outbox.leaf', 0))`);
    const open = (await runningTransactions(sql)).map(({ id }) => id);
    const [row] = await sql.query<{ left: number }>(
      `update outbox.leaf f
       set running = array(select o.id from unnest($2::text[]) o (id) where f.running is null or o.id = any(f.running))
       where n = $1 returning cardinality(running) as left`,
      [n, open],
    );
    return row?.left === 0;
  });
}

/** Whether every lane has published its messages in the leaf. */
export async function isLeafPassed(sql: Sql, n: string): Promise<boolean> {
  const behind = await sql.query('select from outbox.lanes_of_leaf($1::regclass) where not passed limit 1', [
    `outbox.log_${n}`,
  ]);
  return behind.length === 0;
}

/**
 * Takes a leaf that every lane has passed from the claims. Its lanes are asked once more under the lock, which waits for whoever has
 * written there: a prepared transaction may have been committed meanwhile.
 */
export async function passLeaf(database: Database, n: string): Promise<boolean> {
  const { messages, newest } = await measureLeaf(database, n);
  return inBriefLock(database, async (sql) => {
    await sql.query(`lock table only outbox.log_${n} in access exclusive mode`);
    if (!(await isLeafPassed(sql, n))) return;
    await moveTo(sql, n, 'log_passed');
    await sql.query(
      'update outbox.leaf set messages = $2, newest_at = coalesce($3::timestamptz, outbox.clock()) where n = $1',
      [n, messages, newest],
    );
  });
}

/** The number of messages in a leaf, and when the last one was sent or changed. Of a large leaf: about so many, and unknown. */
async function measureLeaf(
  sql: Sql,
  n: string,
): Promise<{ readonly messages: string; readonly newest: string | null }> {
  const [large] = await sql.query<{ messages: string }>(
    `select round(pg_relation_size($1::regclass) / current_setting('block_size')::numeric / $2::integer * (
       select count(*) from outbox.log_${n} where ctid < format('(%s,0)', $2::integer)::tid)) as messages
     where pg_relation_size($1::regclass) > $3`,
    [`outbox.log_${n}`, sampledPages, mostCountedBytes],
  );
  if (large !== undefined) return { messages: large.messages, newest: null };
  const [exact] = await sql.query<{ messages: string; newest: string | null }>(
    `select count(*) as messages, max(greatest(created_at, updated_at))::text as newest from outbox.log_${n}`,
  );
  return exact ?? { messages: '0', newest: null };
}

/** Moves what a lane has not passed, because it was paused for long, beside the log, so that its leaf goes on without it. */
export async function clearLeaf(database: Database, n: string, pace: LeafPace): Promise<void> {
  for (let cleared = 0; cleared < mostCleared && !isOver(pace); ) {
    const [row] = await database.query<{ count: number }>(
      `with behind as materialized (
         select b.id from outbox.lanes_of_leaf($1::regclass) s left join outbox.lane l on l.topic = s.topic and l.n = s.lane
         cross join lateral (
           (select m.id from outbox.log_${n} m where m.topic = s.topic and m.lane = s.lane and m.state = 'ready'
              and m.position > 0 and m.position > coalesce(l.cursor, 0) order by m.position limit $2)
           union all
           (select m.id from outbox.log_${n} m where m.topic = s.topic and m.lane = s.lane and m.state = 'ready'
              and m.position + 0 <= l.cursor and m.xid >= pg_snapshot_xmax(l.snapshot) limit $2)
           union all
           (select r.id from pg_snapshot_xip(l.snapshot) running (xid) cross join lateral (
              select m.id from outbox.log_${n} m where m.topic = s.topic and m.lane = s.lane and m.state = 'ready'
                and m.xid = running.xid and m.position + 0 <= l.cursor offset 0) r limit $2)) b
         where not s.passed limit $2
       )
       select (select count(*)::integer from behind) as count, outbox.take_out(array(select id from behind))`,
      [`outbox.log_${n}`, clearedAtOnce],
    );
    const count = row?.count ?? 0;
    if (count === 0) return;
    cleared += count;
  }
}

/** Whether the lanes had passed the leaf long enough ago. */
export async function isLeafOld(sql: Sql, n: string, lanes: readonly ArchivableLane[]): Promise<boolean> {
  const known = new Map(lanes.map((lane) => [laneName(lane), lane]));
  const there = await sql.query<{ topic: string; lane: number; position: string }>(
    'select topic, lane, position from outbox.lanes_of_leaf($1::regclass)',
    [`outbox.log_${n}`],
  );
  return there.every((each) => {
    const lane = known.get(laneName(each));
    return (
      lane !== undefined && BigInt(each.position) <= BigInt(lane.suspected ? lane.suspectUpTo : lane.upTo)
    );
  });
}

/** Makes its messages archived ones. */
export function archiveLeaf(database: Database, n: string): Promise<boolean> {
  return inBriefLock(database, async (sql) => {
    await moveTo(sql, n, 'log_history');
    // Of the queries of live messages, and of who follows what is new; what is archived is found by id or position.
    await sql.query(`drop index if exists outbox.log_${n}_topic_lane_xid_idx, outbox.log_${n}_xid_idx`);
    await sql.query('update outbox.leaf set archived_at = outbox.clock() where n = $1', [n]);
  });
}

/** From wherever it is: in a copy that replication has made, the tables may be behind the rows of `outbox.leaf`. */
async function moveTo(sql: Sql, n: string, to: 'log_passed' | 'log_history'): Promise<void> {
  const parents = await sql.query<{ name: string }>(
    `select p.relname as name from pg_inherits i join pg_class p on p.oid = i.inhparent where i.inhrelid = $1::regclass`,
    [`outbox.log_${n}`],
  );
  for (const { name } of parents) await sql.query(`alter table outbox.log_${n} no inherit outbox.${name}`);
  await sql.query(`alter table outbox.log_${n} inherit outbox.${to}`);
}

/**
 * Drops it, with its messages. The latest leaf keeps the time by which they were published: leaves may be dropped in another order than
 * they were opened or archived in, so what is left of them does not show it.
 */
export function dropLeaf(database: Database, n: string): Promise<boolean> {
  return inBriefLock(database, async (sql) => {
    await sql.query(`drop table if exists outbox.log_${n}`);
    await sql.query(
      `with gone as (delete from outbox.leaf where n = $1 returning coalesce(archived_at, outbox.clock()) as archived_at, dropped_to)
       update outbox.leaf f set dropped_to = greatest(f.dropped_to, gone.dropped_to, gone.archived_at)
       from gone where f.n = (select max(n) from outbox.leaf)`,
      [n],
    );
  });
}
