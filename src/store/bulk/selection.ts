import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';
import { filterValues, type MessageSelection, matchesSql } from '../message/list.ts';
import type { SelectedPage, Walk, WalkPlace } from './walk.ts';

/** A filter with its states named: those that the change can be made of. */
export interface BulkFilter extends Omit<MessageSelection, 'id'> {
  /** States as people see them, at least one: those that were asked for, else all that the action can change. */
  readonly states: readonly State[];
}

/** What a bulk operation is about: what matched its filter, and was made before its start. */
export interface Selection {
  readonly filter: BulkFilter;
  /** PostgreSQL's text of a time, with microseconds. */
  readonly selectedUntil: string;
}

/**
 * Rows that one page reads at most, while it searches for keys, refs, errors or times. So a page takes milliseconds
 * whatever the filter, and may be short or empty though there are more.
 */
const readLimit = 20_000;

/** What the filter asks about. A ready row of the sources is not passed, so the stored states are those that people see. */
const walkedColumns =
  'm.position, m.id, m.topic, m.state, m.key, m.ref, m.last_error, m.created_at, m.due_at';

/**
 * Walks every source upwards: a topic's rows of one state, and a lane's ready rows that it has not passed (beyond its
 * cursor, and those that its snapshot could not see, which is what a claim reads). A source that was not read to its end
 * says nothing about what lies higher: up to the last row of the lowest such source (`floor`) all is known, and there
 * the next page begins.
 *
 * Positions, because a message keeps its position through retries, and gets a higher one when it becomes due: what was
 * not passed by the walk stays before it. $11 time, $12 and $13 place, $14 limit, $15 rows to read, $16 operation.
 */
const pageSql = `
  with recursive topics (topic) as (
    -- A named topic is not looked for: with an order by a constant the planner would look through the whole table.
    (select $2::text where $2::text is not null
     union all
     (select m.topic from outbox.message m where m.state <> 'ready' and m.position > 0 and $2::text is null order by m.topic limit 1))
    union all
    select n.topic from topics t cross join lateral (
      select m.topic from outbox.message m where m.state <> 'ready' and m.position > 0 and m.topic > t.topic and $2::text is null
      order by m.topic limit 1) n
  ), lanes (topic, lane) as (
    (select m.topic, m.lane from outbox.message m where m.state = 'ready' and 'ready' = any($3::text[])
       and ($2::text is null or m.topic = $2)
     order by m.topic, m.lane limit 1)
    union all
    select n.topic, n.lane from lanes l cross join lateral (
      select m.topic, m.lane from outbox.message m where m.state = 'ready' and (m.topic, m.lane) > (l.topic, l.lane)
        and ($2::text is null or m.topic = $2)
      order by m.topic, m.lane limit 1) n
  ), sources as materialized (
    select row_number() over () as source, s.* from (
      select t.topic, null::integer as lane, x.state::outbox.state as state, null::text as part, null::bigint as cursor, null::pg_snapshot as snapshot
      from topics t cross join unnest($3::text[]) x (state) where x.state <> 'ready'
      union all
      select n.topic, n.lane, null, p.part, case when l.snapshot is null then 0 else l.cursor end, l.snapshot
      from lanes n left join outbox.lane l on l.topic = n.topic and l.n = n.lane
      cross join unnest(array['beyond', 'later', 'running']) p (part)
      where p.part = 'beyond' or l.snapshot is not null
    ) s
  ), share as materialized (
    select greatest($14::bigint, $15::bigint / greatest(1, (select count(*) from sources))) as rows
  ), walked as materialized (
    select s.source, w.*
    from sources s cross join lateral (
      (select ${walkedColumns} from outbox.message m
       where s.state is not null and m.topic = s.topic and m.state = s.state and m.state <> 'ready' and m.position > 0
         and (m.position, m.id) > ($12::bigint, $13::uuid)
       order by m.position, m.id limit (select rows from share))
      union all
      (select ${walkedColumns} from outbox.message m
       where s.part = 'beyond' and m.topic = s.topic and m.lane = s.lane and m.state = 'ready'
         and m.position > s.cursor and m.position >= $12 and (m.position, m.id) > ($12, $13)
       order by m.position, m.id limit (select rows from share))
      union all
      (select ${walkedColumns} from outbox.message m
       where s.part = 'later' and m.topic = s.topic and m.lane = s.lane and m.state = 'ready'
         and m.xid >= pg_snapshot_xmax(s.snapshot) and m.position + 0 <= s.cursor and (m.position, m.id) > ($12, $13)
       order by m.position, m.id limit (select rows from share))
      union all
      (select m.* from pg_snapshot_xip(s.snapshot) running (xid) cross join lateral (
         select ${walkedColumns} from outbox.message m
         where m.topic = s.topic and m.lane = s.lane and m.state = 'ready' and m.xid = running.xid
           and m.position + 0 <= s.cursor and (m.position, m.id) > ($12, $13) offset 0) m
       where s.part = 'running'
       order by m.position, m.id limit (select rows from share))
    ) w
  ), floor as materialized (
    select e.position, e.id from (
      select distinct on (w.source) w.position, w.id, count(*) over (partition by w.source) as read
      from walked w order by w.source, w.position desc, w.id desc) e
    where e.read >= (select rows from share)
    order by e.position, e.id limit 1
  )
  select a.id, a.position, f.position as "floorPosition", f.id as "floorId"
  from (values (1)) one left join floor f on true left join lateral (
    select a.id, a.position from walked a
    where (f.id is null or (a.position, a.id) <= (f.position, f.id)) and ${matchesSql} and a.created_at < $11::text::timestamptz
      -- The offset makes it a look at the index for each row, instead of a table of all that was answered so far.
      and not exists (select from outbox.audit u where u.bulk_id = $16::uuid and u.message_id = a.id offset 0)
    order by a.position, a.id limit $14
  ) a on true`;

/** Walks a selection of the outbox. */
export function walkOf(selection: Selection): Walk<SampledMessage> {
  return {
    page: (sql, after, limit, bulkId) => selectPage(sql, selection, after, limit, bulkId),
    sample: readSample,
  };
}

/**
 * The next messages of a selection, at most `limit`.
 *
 * @param bulkId leaves out what this operation has answered already
 */
export async function selectPage(
  sql: Sql,
  { filter, selectedUntil }: Selection,
  after: WalkPlace,
  limit: number,
  bulkId: string | null,
): Promise<SelectedPage> {
  const rows = await sql.query<{
    readonly id: string | null;
    readonly position: string | null;
    readonly floorPosition: string | null;
    readonly floorId: string | null;
  }>(pageSql, [
    ...filterValues(filter),
    selectedUntil,
    after.position,
    after.id,
    limit,
    isSearch(filter) ? readLimit : 0,
    bulkId,
  ]);
  const found = rows.flatMap(({ id, position }) =>
    id === null || position === null ? [] : [{ id, position }],
  );
  const last = found.at(-1);
  const { floorPosition = null, floorId = null } = rows[0] ?? {};
  const floor = floorPosition === null || floorId === null ? null : { position: floorPosition, id: floorId };
  return {
    ids: found.map(({ id }) => id),
    next: found.length >= limit && last !== undefined ? last : floor,
  };
}

/** True when rows of a source may have to be passed over; otherwise one page of each source is enough. */
function isSearch({ key, ref, error, createdFrom, createdTo, dueFrom, dueTo }: BulkFilter): boolean {
  return [key, ref, error, createdFrom, createdTo, dueFrom, dueTo].some((value) => value !== undefined);
}

/** Which of these messages match the filter now. */
export async function stillMatching(
  sql: Sql,
  filter: BulkFilter,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql.query<{ readonly id: string }>(
    `select a.id from outbox.message_view a where a.id = any($11::uuid[]) and ${matchesSql}`,
    [...filterValues(filter), [...ids]],
  );
  return new Set(rows.map(({ id }) => id));
}

/** A message of a selection, as a dry run shows it. */
export interface SampledMessage {
  /** UUID of the message; it travels to the consumer. */
  readonly id: string;
  /** Name of its topic. */
  readonly topic: string;
  /** Messages of one key are delivered in order; null: it has none. */
  readonly key: string | null;
  /** Business name, unique in the topic while the message waits; null: it has none. */
  readonly ref: string | null;
  /** The state as people see it: `published` also where only the cursor of the lane says so. */
  readonly state: State;
  /** When it is or was due, or its next try; null: it was due at once. */
  readonly dueAt: Date | null;
  /** Tries that failed, 0 or more. A retry of a failed message begins at 0 again. */
  readonly attempts: number;
  /** What the last failed try ended with; null: none has failed. */
  readonly lastError: string | null;
  /** When it was sent, on the database's clock. */
  readonly createdAt: Date;
}

/** The messages of these ids, by their positions. */
async function readSample(sql: Sql, ids: readonly string[]): Promise<readonly SampledMessage[]> {
  return sql.query<SampledMessage>(
    `select a.id, a.topic, a.key, a.ref, a.state::text as state, a.due_at as "dueAt", a.attempts, a.last_error as "lastError",
       a.created_at as "createdAt"
     from outbox.message_view a where a.id = any($1::uuid[]) order by a.position, a.id`,
    [[...ids]],
  );
}
