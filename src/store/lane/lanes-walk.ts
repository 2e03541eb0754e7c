import type { State } from '../../core/transitions.ts';

/** One walk over messages that may be in a wrong lane, page by page. */
export interface LanesWalk {
  /** Moves one page; after topic, number of lanes, and the cursor of the walk come {@link LanesWalk.values}. */
  readonly text: string;
  readonly values: readonly number[];
  /** The most messages that one page moves. */
  readonly most: number;
}

/** Rows of one page, and rows that it moves at most. */
const pageRows = 1_000;
/** Of late messages, of which a page has all of a transaction: they are read again for each such part. */
const lateRows = 5_000;

/** The live messages of the log, or all others. */
type Table = 'outbox.log' | 'only outbox.message';
const tables: readonly Table[] = ['outbox.log', 'only outbox.message'];

const misplaced = 'm.topic = $1 and m.lane <> outbox.lane_of(m.key, m.id, $2)';
/** What may still be sent of a topic that is not delivered. Of ready messages only those that their lane has not passed are walked over. */
const live = `(m.state::text in ('waiting', 'blocked', 'retrying', 'failed', 'ready')
  or m.state::text = 'published' and m.confirm_by is not null)`;

/**
 * Locks and moves the messages of `ids`. A ready row gets a new xid, because its new lane may already have passed its position: the next
 * claim reads rows that the lane's snapshot could not see. Rows that a dead owner may have published are marked individually, because
 * the mark of their lane does not move with them.
 */
const move = (table: Table, ids: string): string => `
  picked as materialized (
    select m.id from ${table} m where m.id = any(array(${ids})) and ${misplaced} and ${live} for update skip locked
  ), moved as (
    update ${table} m set lane = outbox.lane_of(m.key, m.id, $2),
      xid = case when m.state::text = 'ready' then pg_current_xact_id() else m.xid end,
      maybe_published = m.maybe_published
        or m.state::text = 'ready' and coalesce(pg_visible_in_snapshot(m.xid, l.suspect), false),
      workflow_id = case when m.workflow_id is null then null when right(m.workflow_id, 45) = '/message/' || m.id::text then m.workflow_id
        else outbox.lane_workflow_id(m.topic, outbox.lane_of(m.key, m.id, $2)) end
    from outbox.lane l
    where m.id = any(array(select p.id from picked p)) and l.topic = m.topic and l.n = m.lane
    returning m.id
  )`;

interface Page {
  readonly table: Table;
  /** What the walk orders by, and the type of its cursor. */
  readonly by: 'position' | 'xid';
  /** What it walks over: the beginning of an index. */
  readonly scope: string;
  /** Which of that may still be sent. */
  readonly lives: string;
  readonly most: number;
}

/**
 * Reads one page, and moves what is in a wrong lane. However many rows are in their right
 * lane, it reads no more than its rows, or those of one transaction. `cursor`: the last row that it read; null: this was the last page.
 */
const page = ({ table, by, scope, lives, most }: Page): string => {
  const from = `from ${table} m where m.topic = $1 and ${scope}
      and m.${by} > coalesce($3::text, '0')::${by === 'xid' ? 'xid8' : 'bigint'}`;
  return `
  with read as materialized (select m.${by} as at ${from} order by m.${by} limit ${pageRows}),
  edge as materialized (select (select r.at from read r order by r.at desc limit 1) as at, (select count(*) from read) as rows),
  wrong as materialized (
    select m.id ${from} and m.${by} <= (select e.at from edge e) and ${lives} and ${misplaced} order by m.${by} limit ${most}
  ), ${move(table, 'select w.id from wrong w')}
  select (select count(*)::integer from moved) as moved, (select count(*)::integer from wrong) as wrong,
    array(select w.id from wrong w except select d.id from moved d) as skipped,
    (select e.at::text from edge e where e.rows = ${pageRows}) as cursor`;
};

/**
 * The states before `ready`, each before those that it can change into while its topic is not delivered. So a message that
 * changes during the walks was met before, or is met later.
 */
export const walkedStates = [
  'waiting',
  'blocked',
  'retrying',
  'published',
  'failed',
] as const satisfies readonly State[];

const ofStates: readonly LanesWalk[] = walkedStates.map((state) => ({
  text: page({
    table: 'only outbox.message',
    by: 'position',
    scope: `m.state = '${state}' and m.position > 0`,
    lives: live,
    most: pageRows,
  }),
  values: [],
  most: pageRows,
}));

const ofLane = (column: string): string =>
  `(select ${column} from outbox.lane l where l.topic = $1 and l.n = $4::integer)`;
const notPassed = `(select not outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)
  from outbox.lane l where l.topic = $1 and l.n = $4::integer)`;
const readyOfLane = "m.lane = $4::integer and m.state = 'ready'";

/** Ready messages of a lane: those that committed behind its cursor, by transaction, and those beyond. */
const perLane = tables.flatMap((table): readonly Omit<LanesWalk, 'values'>[] => [
  {
    text: page({
      table,
      by: 'xid',
      scope: `${readyOfLane} and m.xid >= ${ofLane('pg_snapshot_xmin(l.snapshot)')}`,
      lives: `m.position + 0 <= ${ofLane('l.cursor')} and ${notPassed}`,
      most: lateRows,
    }),
    most: lateRows,
  },
  {
    text: page({
      table,
      by: 'position',
      scope: `${readyOfLane} and m.position > 0 and m.position > ${ofLane('l.cursor')}`,
      lives: notPassed,
      most: pageRows,
    }),
    most: pageRows,
  },
]);

/** All walks of a change, in their order. What leaves the log meanwhile is met beside it. */
export function walksOf(lanes: readonly number[]): readonly LanesWalk[] {
  return [...ofStates, ...lanes.flatMap((lane) => perLane.map((walk) => ({ ...walk, values: [lane] })))];
}

/** Messages that were skipped, and copies that edits have made of them meanwhile; $3. */
const noted = `select n.id from unnest($3::uuid[]) n (id) union all
  select c.id from only outbox.message c where c.supersedes = any($3::uuid[])`;

/** Moves messages that walks have skipped. */
export const skippedMoves: readonly string[] = tables.map(
  (table) => `with ${move(table, noted)} select count(*)::integer as moved from moved`,
);

/** Which of them are still in a wrong lane, because somebody holds them. */
export const stillSkipped = `select m.id from outbox.message m where m.id = any(array(${noted})) and ${misplaced} and ${live}`;
