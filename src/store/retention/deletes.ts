import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';

/** One page of expired rows. */
export interface DeletedPage {
  readonly deleted: number;
  /** Where the next page begins, for the same function; `null`: this was the last. */
  readonly next: string | null;
}

export interface DeletePage {
  /** `next` of the previous page; `null`: from the beginning. */
  readonly after: string | null;
  readonly ageMs: number;
  readonly limit: number;
}

const nothing: DeletedPage = { deleted: 0, next: null };

// Pages as in archive.ts: rows in the order of an index, whether or not they may be deleted. If a page ends among rows of
// the same time, the next round begins with the rest. A message is looked up with a limit, because for an `exists` the
// planner might read them all.

/** Lanes whose batches are recorded. */
export async function readNotedLanes(sql: Sql): Promise<readonly Lane[]> {
  return sql.query<Lane>('select topic, n as lane from outbox.lane order by topic, n');
}

/** The first position of the lane in leaves of the log; null: it has none there. */
const firstIn = (parent: string): string =>
  `(select l.position from outbox.${parent} l
     where l.topic = $1 and l.lane = $2 and l.state = 'ready' and l.position > 0 order by l.position limit 1)`;

/** Deletes recorded batches of a lane that have no message in a leaf of the log, and whose other messages have all been archived. */
export async function deleteBatches(
  sql: Sql,
  { topic, lane }: Lane,
  { after, ageMs, limit }: DeletePage,
): Promise<DeletedPage> {
  const [row] = await sql.query<DeletedPage>(
    `with page as materialized (
       select b.ctid, b.published_at, b.first_position, b.last_position from outbox.batch b
       where b.topic = $1 and b.lane = $2 and b.published_at <= outbox.clock() - $3 * interval '1 ms'
         and ($4::text is null or b.published_at > $4::timestamptz)
         and b.published_at < (select min(f.opened_at) from outbox.leaf f)
       order by b.published_at limit $5
     ), free as (
       select ctid from page p where (
         select m.position from only outbox.message m where m.topic = $1 and m.lane = $2 and m.state = 'ready'
           and m.position > 0 and m.position between p.first_position and p.last_position order by m.position limit 1) is null
         -- The time of a leaf keeps the pages short. It is too late for the batches of a leaf if the clock was set back after it had been
         -- opened. The three in the order in which leaves move.
         and (p.last_position < least(${firstIn('log')}, ${firstIn('log_passed')}, ${firstIn('log_history')})) is not false
     ), picked as materialized (
       select b.ctid from outbox.batch b where b.ctid = any(array(select ctid from free)) for update skip locked
     ), gone as (delete from outbox.batch b where b.ctid = any(array(select ctid from picked)) returning 1)
     select (select count(*)::integer from gone) as deleted,
       case when (select count(*) from page) = $5 then (select max(published_at)::text from page) end as next`,
    [topic, lane, ageMs, after, limit],
  );
  return row ?? nothing;
}

/** Deletes attempts of messages that have left the live table. */
export async function deleteAttempts(sql: Sql, { after, ageMs, limit }: DeletePage): Promise<DeletedPage> {
  const [row] = await sql.query<DeletedPage>(
    `with page as materialized (
       select a.ctid, a.id, a.message_id, a.at <= outbox.clock() - $1 * interval '1 ms' as old from outbox.attempt a
       where a.id > coalesce($2::bigint, 0) order by a.id limit $3
     ), free as (
       select ctid from page p where p.old and (select m.id from only outbox.message m where m.id = p.message_id limit 1) is null
     ), picked as materialized (
       select a.ctid from outbox.attempt a where a.ctid = any(array(select ctid from free)) for update skip locked
     ), gone as (delete from outbox.attempt a where a.ctid = any(array(select ctid from picked)) returning 1)
     select (select count(*)::integer from gone) as deleted,
       -- Ids grow with time: after a page without old rows there are no old rows.
       case when (select bool_or(old) from page) and (select count(*) from page) = $3
         then (select max(id)::text from page) end as next`,
    [ageMs, after, limit],
  );
  return row ?? nothing;
}
