import { laneName } from '../../core/lane.ts';
import type { Database, Sql } from '../database/database.ts';
import { runningTransactions } from '../lane/lanes-switch.ts';
import type { ArchivableLane } from './archive.ts';
import { inBriefLock } from './brief-lock.ts';

// The steps of one leaf of the log, the table `outbox.log_<n>`. `in-use`: somebody keeps a lock on it.
//
// The table decides, by its parent, and not its row in `outbox.leaf`: in a copy that replication has made, rows may be ahead of tables.

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
  return inBriefLock(database, [`log_${n}`], async (sql) => {
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

/** What became of a step; `behind`: the table has not come as far as its row said, and the row has been corrected. */
export type LeafStep = 'done' | 'in-use' | 'behind';

/** Makes its messages archived ones. */
export function archiveLeaf(database: Database, n: string): Promise<LeafStep> {
  return stepFrom(database, n, ['log_passed', 'log_history'], async (sql) => {
    await moveTo(sql, n, 'log_history');
    // Of the queries of live messages, and of who follows what is new; what is archived is found by id or position.
    await sql.query(`drop index if exists outbox.log_${n}_topic_lane_xid_idx, outbox.log_${n}_xid_idx`);
    await sql.query('update outbox.leaf set archived_at = outbox.clock() where n = $1', [n]);
  });
}

async function moveTo(sql: Sql, n: string, to: 'log_passed' | 'log_history'): Promise<void> {
  for (const name of await parentsOf(sql, n))
    await sql.query(`alter table outbox.log_${n} no inherit outbox.${name}`);
  await sql.query(`alter table outbox.log_${n} inherit outbox.${to}`);
}

async function parentsOf(sql: Sql, n: string): Promise<readonly string[]> {
  const parents = await sql.query<{ name: string }>(
    `select p.relname as name from pg_class c join pg_inherits i on i.inhrelid = c.oid join pg_class p on p.oid = i.inhparent
     where c.relnamespace = 'outbox'::regnamespace and c.relname = $1`,
    [`log_${n}`],
  );
  return parents.map(({ name }) => name);
}

/**
 * Drops it, with its messages. The latest leaf keeps the time by which they were published: leaves may be dropped in another order than
 * they were opened or archived in, so what is left of them does not show it.
 */
export function dropLeaf(database: Database, n: string): Promise<LeafStep> {
  return stepFrom(database, n, ['log_history'], async (sql) => {
    await sql.query(`drop table if exists outbox.log_${n}`);
    await sql.query(
      `with gone as (delete from outbox.leaf where n = $1 returning coalesce(archived_at, outbox.clock()) as archived_at, dropped_to)
       update outbox.leaf f set dropped_to = greatest(f.dropped_to, gone.dropped_to, gone.archived_at)
       from gone where f.n = (select max(n) from outbox.leaf)`,
      [n],
    );
  });
}

/** Takes a step if the table is a child of one of these alone, or does not exist: asked under the lock, which nobody else has then. */
async function stepFrom(
  database: Database,
  n: string,
  from: readonly string[],
  step: (sql: Sql) => Promise<void>,
): Promise<LeafStep> {
  let behind = false;
  const locked = await inBriefLock(database, [`log_${n}`], async (sql) => {
    const [table] = await sql.query<{ name: string | null }>('select to_regclass($1)::text as name', [
      `outbox.log_${n}`,
    ]);
    if (typeof table?.name === 'string')
      await sql.query(`lock table only outbox.log_${n} in access exclusive mode`);
    const parents = await parentsOf(sql, n);
    behind = parents.some((name) => !from.includes(name));
    await (behind ? followTables(sql, n) : step(sql));
  });
  if (!locked) return 'in-use';
  return behind ? 'behind' : 'done';
}

/**
 * Corrects the rows of leaves that say more than has been done with their tables: these go through all steps again, from the question who
 * may still write there.
 *
 * @param n only this one @defaultValue all
 */
export async function followTables(sql: Sql, n: string | null = null): Promise<void> {
  await sql.query(
    `update outbox.leaf l set archived_at = null,
       messages = case when not t.claimed then l.messages end, newest_at = case when not t.claimed then l.newest_at end,
       running = case when not t.claimed then l.running end
     from (select c.relname, bool_or(p.relname = 'log') as claimed
       from pg_class c join pg_inherits i on i.inhrelid = c.oid join pg_class p on p.oid = i.inhparent
       where c.relnamespace = 'outbox'::regnamespace and p.relname in ('log', 'log_passed') group by c.relname) t
     where t.relname = 'log_' || l.n::text and l.n = coalesce($1::bigint, l.n)
       and (l.archived_at is not null or t.claimed and (l.messages is not null or l.running is not null))`,
    [n],
  );
}
