import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';
import {
  filterValues,
  type ListedMessage,
  listedColumns,
  type MessageFilter,
  matchesSql,
} from '../message/list.ts';
import type { SelectedPage, Walk } from './walk.ts';

/** A filter whose states are explicit. */
export interface BulkFilter extends Omit<MessageFilter<string>, 'id'> {
  /** States as operators see them, at least one: the given ones, else all that the action applies to. */
  readonly states: readonly State[];
}

/** The messages of a bulk operation: those that match its filter, and were sent before its start. */
export interface Selection {
  readonly filter: BulkFilter;
  /** PostgreSQL's text of a time, with microseconds. */
  readonly selectedUntil: string;
}

/**
 * Maximum number of rows that one page reads in a search for keys, refs, errors or times. So a page takes milliseconds with
 * any filter, and may be short or empty although there are more.
 */
const readLimit = 20_000;

/**
 * Walks every source upwards: a topic's rows of one state; no action applies to ready ones. Of a source that was not read to its end,
 * the higher rows are unknown. So the page is complete only up to the last row of the lowest such source (`floor`), where the
 * next page begins.
 *
 * The walk goes by position: a message keeps it through retries, and gets a higher one when it becomes due, so the walk
 * misses none. $11 time, $12 and $13 cursor, $14 limit, $15 rows to read, $16 operation.
 */
const pageSql = `
  with recursive topics (topic) as (
    -- A given topic is not searched for: with an order by a constant the planner would scan the whole table.
    (select $2::text where $2::text is not null
     union all
     (select m.topic from only outbox.message m where m.state <> 'ready' and m.position > 0 and $2::text is null order by m.topic limit 1))
    union all
    select n.topic from topics t cross join lateral (
      select m.topic from only outbox.message m where m.state <> 'ready' and m.position > 0 and m.topic > t.topic and $2::text is null
      order by m.topic limit 1) n
  ), sources as materialized (
    select row_number() over () as source, t.topic, x.state::outbox.state as state
    from topics t cross join unnest($3::text[]) x (state)
  ), quota as materialized (
    select greatest($14::bigint, $15::bigint / greatest(1, (select count(*) from sources))) as rows
  ), walked as materialized (
    select s.source, w.*
    from sources s cross join lateral (
      select m.position, m.id, m.topic, m.state, m.key, m.ref, m.last_error, m.created_at, m.due_at from only outbox.message m
      where m.topic = s.topic and m.state = s.state and m.state <> 'ready' and m.position > 0
        and (m.position, m.id) > ($12::bigint, $13::uuid)
      order by m.position, m.id limit (select rows from quota)
    ) w
  ), floor as materialized (
    select e.position, e.id from (
      select distinct on (w.source) w.position, w.id, count(*) over (partition by w.source) as read
      from walked w order by w.source, w.position desc, w.id desc) e
    where e.read >= (select rows from quota)
    order by e.position, e.id limit 1
  )
  select a.id, a.position, f.position as "floorPosition", f.id as "floorId"
  from (values (1)) one left join floor f on true left join lateral (
    select a.id, a.position from walked a
    where (f.id is null or (a.position, a.id) <= (f.position, f.id)) and ${matchesSql} and a.created_at < $11::text::timestamptz
      -- The offset forces an index lookup per row, instead of a hash table of everything processed so far.
      and not exists (select from outbox.audit u where u.bulk_id = $16::uuid and u.message_id = a.id offset 0)
    order by a.position, a.id limit $14
  ) a on true`;

/** Walks a selection of the outbox. */
export const walkOf = (selection: Selection): Walk<ListedMessage> => walkBy(pageSql, selection);

/** Walks by a statement of this shape, with its parameters and `more`, from $17 on. */
export function walkBy(
  statement: string,
  { filter, selectedUntil }: Selection,
  more: readonly unknown[] = [],
): Walk<ListedMessage> {
  return {
    async page(sql, after, limit, bulkId) {
      const rows = await sql.query<WalkedRow>(statement, [
        ...filterValues(filter),
        selectedUntil,
        after.position,
        after.id,
        limit,
        isSearch(filter) ? readLimit : 0,
        bulkId,
        ...more,
      ]);
      return pageOfRows(rows, limit);
    },
    sample: readSample,
  };
}

/** A message of a page, or nothing, with the floor of the page. */
interface WalkedRow {
  readonly id: string | null;
  readonly position: string | null;
  readonly floorPosition: string | null;
  readonly floorId: string | null;
}

/** The next page begins after the last message of a full one, else at the floor. */
function pageOfRows(rows: readonly WalkedRow[], limit: number): SelectedPage {
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

/** True if rows of a source may have to be skipped; otherwise one page of each source is enough. */
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

/** The messages with these ids, by position. */
async function readSample(sql: Sql, ids: readonly string[]): Promise<readonly ListedMessage[]> {
  return sql.query<ListedMessage>(
    `select ${listedColumns} from outbox.message_all a where a.id = any($1::uuid[]) order by a.position, a.id`,
    [[...ids]],
  );
}
