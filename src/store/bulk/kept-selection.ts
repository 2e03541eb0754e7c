import type { KeptState } from '../../core/parked-states.ts';
import type { Sql } from '../database/database.ts';
import {
  type KeptFilter,
  keptColumns,
  keptMatchesSql,
  type ListedKept,
  selectionValues,
} from '../inbox/list.ts';
import type { PageCursor } from '../message/list.ts';
import type { SelectedPage, Walk } from './walk.ts';

/** A filter of kept messages with explicit group and states, and its age as a time. */
export interface KeptBulkFilter extends Omit<KeptFilter, 'olderThan'> {
  /** Name of the consumer group that keeps them. */
  readonly group: string;
  /** The states that they are in, and must still be in when they are changed. */
  readonly states: readonly KeptState[];
  /** ISO time, inclusive. */
  readonly arrivedTo?: string;
}

/** The messages of a bulk operation on kept messages: those that match its filter, and arrived before its start. */
export interface SelectedKept {
  readonly filter: KeptBulkFilter;
  /** PostgreSQL's text of a time, with microseconds. */
  readonly selectedUntil: string;
}

/** Maximum number of rows that one page reads, so that it takes milliseconds even if few of them match. */
const readLimit = 20_000;

/**
 * A copy made by an edit is as old as its original, even if it is made after the start. $7 time, $8 and $9
 * cursor, $10 limit, $11 rows to read, $12 time of the filter.
 */
const pageSql = (only: string): string => `
  with found as materialized (
    select p.position, p.message_id from (
      select p.position, p.message_id, p.topic, p.state, p.key, p.reason, p.arrived_at, p.supersedes from outbox.parked p
      where p.consumer_group = $1 and ${only} (p.position, p.message_id) > ($8::bigint, $9::text collate "C")
      order by p.position, p.message_id limit $11::integer) p
    where ${keptMatchesSql} and p.arrived_at < $7::text::timestamptz
      and ($12::text is null or p.arrived_at <= $12::text::timestamptz)
      -- The offset forces an index lookup per copy; there are few.
      and (p.supersedes is null or not exists (select from outbox.audit u
        where u.consumer_group = $1 and u.inbox_id = p.supersedes and u.action = 'edit' and u.at >= $7::text::timestamptz
        offset 0))
    order by p.position, p.message_id limit $10::integer
  ), ends as materialized (
    -- The last row that was read, if the limit was reached; it matters only if too few of them matched.
    select p.position, p.message_id from outbox.parked p
    where (select count(*) from found) < $10::integer
      and p.consumer_group = $1 and ${only} (p.position, p.message_id) > ($8::bigint, $9::text collate "C")
    order by p.position, p.message_id offset $11::integer - 1 limit 1
  )
  select f.message_id as id, f.position::text as position, e.position::text as "endPosition", e.message_id as "endId"
  from (values (1)) one left join ends e on true left join found f on true
  order by f.position, f.message_id`;

/** With the state as a constant the index of failed messages can be used: there may be many others. */
const [anyPageSql, failedPageSql] = [pageSql(''), pageSql(`p.state = 'failed' and`)];

/** Walks up the positions, which never change. So no message is found twice. */
export function walkOfKept(selection: SelectedKept): Walk<ListedKept> {
  const { group } = selection.filter;
  return {
    page: (sql, after, limit) => selectKeptPage(sql, selection, after, limit),
    sample: (sql, ids) =>
      sql.query<ListedKept>(
        `select ${keptColumns} from outbox.parked p where p.consumer_group = $1 and p.message_id = any($2::text[])
         order by p.position, p.message_id`,
        [group, [...ids]],
      ),
  };
}

/** The next messages of a selection, at most `limit`. */
export async function selectKeptPage(
  sql: Sql,
  { filter, selectedUntil }: SelectedKept,
  after: PageCursor,
  limit: number,
): Promise<SelectedPage> {
  const failedOnly = filter.states.every((state) => state === 'failed');
  const rows = await sql.query<{
    readonly id: string | null;
    readonly position: string | null;
    readonly endPosition: string | null;
    readonly endId: string | null;
  }>(failedOnly ? failedPageSql : anyPageSql, [
    ...selectionValues(filter),
    selectedUntil,
    after.position,
    after.id,
    limit,
    readLimit,
    filter.arrivedTo ?? null,
  ]);
  const found = rows.flatMap(({ id, position }) =>
    id === null || position === null ? [] : [{ id, position }],
  );
  const last = found.at(-1);
  const { endPosition = null, endId = null } = rows[0] ?? {};
  const end = endPosition === null || endId === null ? null : { position: endPosition, id: endId };
  return {
    ids: found.map(({ id }) => id),
    next: found.length >= limit && last !== undefined ? last : end,
  };
}
