import type { Database } from '../database/database.ts';
import { holdChange, type TopicChange } from './lanes-change.ts';

/** Rows moved per transaction. */
const batchRows = 1_000;

/**
 * Moves every unpublished message of a paused topic to the lane of its key, batch by batch. Positions stay, and with them
 * the order of every key. Locked rows are skipped.
 *
 * Rows that a dead owner may have published are marked individually, because the mark of their lane does not move with them.
 *
 * @returns how many were moved
 * @throws ChangeGone before a batch that no longer belongs to the change
 */
export async function replaceMessages(database: Database, change: TopicChange): Promise<number> {
  const { topic, wanted } = change;
  const from = await database.query<{ n: number; cursor: string }>(
    'select n, cursor from outbox.lane where topic = $1 order by n',
    [topic],
  );
  const inPages = pager(database, change);
  let moved = 0;
  for (const { n, cursor } of from) {
    for (const { ready, late } of ofLane) {
      moved += await inPages(cursor, (after) => [ready, [topic, wanted, batchRows, n, after]]);
      moved += await inPages('', () => [late, [topic, wanted, batchRows, n]]);
    }
  }
  for (const statement of others)
    moved += await inPages('0', (after) => [statement, [topic, wanted, batchRows, after]]);
  return moved;
}

interface MovedRow {
  readonly last: string | null;
  readonly moved: number;
}

type Page = (after: string) => readonly [text: string, values: readonly unknown[]];

/** Repeats a statement after the last row of each page until a page is not full. */
function pager(database: Database, change: TopicChange) {
  const movePage = (...statement: ReturnType<Page>): Promise<MovedRow | undefined> =>
    database.transaction(async (sql) => {
      await holdChange(sql, change);
      const [row] = await sql.query<MovedRow>(...statement);
      return row;
    });
  return async (first: string, page: Page): Promise<number> => {
    let total = 0;
    for (let after = first; ; ) {
      const row = await movePage(...page(after));
      total += row?.moved ?? 0;
      if (row === undefined || row.last === null || row.moved < batchRows) return total;
      after = row.last;
    }
  };
}

/** The live messages of the log, or all others. */
type Table = 'outbox.log' | 'only outbox.message';

/**
 * $1 topic, $2 number of lanes, $3 maximum number of rows. A ready row gets a new xid, because its new lane may already have
 * passed its position: the next claim reads rows that the lane's snapshot could not see.
 */
const move = (table: Table, picked: string): string => `
  with picked as materialized (${picked}),
  moved as (
    update ${table} m set lane = p.target,
      xid = case when m.state::text = 'ready' then pg_current_xact_id() else m.xid end,
      maybe_published = m.maybe_published
        or m.state::text = 'ready' and coalesce(pg_visible_in_snapshot(m.xid, l.suspect), false),
      workflow_id = case when m.workflow_id is null then null when right(m.workflow_id, 45) = '/message/' || m.id::text then m.workflow_id
        else outbox.lane_workflow_id(m.topic, p.target) end
    from picked p, outbox.lane l
    where m.id = p.id and l.topic = m.topic and l.n = m.lane
    returning m.position as last
  )
  select (select last from moved order by last desc limit 1)::text as last, (select count(*)::integer from moved) as moved`;

const misplaced = 'm.topic = $1 and m.lane <> outbox.lane_of(m.key, m.id, $2)';
const target = 'outbox.lane_of(m.key, m.id, $2) as target';

/** Ready rows beyond the cursor; $4 lane, $5 position. */
const readyOfLane = (table: Table): string =>
  move(
    table,
    `select m.id, ${target} from ${table} m
     where ${misplaced} and m.lane = $4 and m.state = 'ready' and m.position > 0 and m.position > $5::bigint
     order by m.position limit $3 for update skip locked`,
  );

/** Ready rows that committed behind the cursor; $4 lane. The order of the branches is that of a claim. */
const lateOfLane = (table: Table): string =>
  move(
    table,
    `select m.id, ${target} from ${table} m
     where m.id in (
         select r.id from outbox.lane l join ${table} r on r.topic = l.topic and r.lane = l.n and r.state = 'ready'
           and r.position + 0 <= l.cursor and r.xid >= pg_snapshot_xmax(l.snapshot)
           and not outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, r.position, r.xid)
         where l.topic = $1 and l.n = $4
         union all
         select r.id from outbox.lane l cross join lateral pg_snapshot_xip(l.snapshot) running (xid)
           cross join lateral (select * from ${table} s where s.topic = l.topic and s.lane = l.n and s.state = 'ready'
             and s.xid = running.xid and s.position + 0 <= l.cursor
             and not outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, s.position, s.xid) offset 0) r
         where l.topic = $1 and l.n = $4)
       and ${misplaced} and m.lane = $4 and m.state::text = 'ready'
     limit $3 for update skip locked`,
  );

const ofLane = (['outbox.log', 'only outbox.message'] as const).map((table) => ({
  ready: readyOfLane(table),
  late: lateOfLane(table),
}));

/**
 * Waiting, blocked, retrying and failed rows, and published ones that may be resent; $4 position. A statement for each state, so
 * that it walks an index of its topic alone.
 */
const others = [
  `m.state = 'waiting'`,
  `m.state = 'blocked'`,
  `m.state = 'retrying'`,
  `m.state = 'failed'`,
  `m.state = 'published' and m.confirm_by is not null`,
].map((state) =>
  move(
    'only outbox.message',
    `select m.id, ${target} from only outbox.message m
     where ${misplaced} and ${state} and m.position > 0 and m.position > $4::bigint
     order by m.position limit $3 for update skip locked`,
  ),
);
