import type { Lane } from '../../core/lane.ts';
import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';

// What is not in the log is archived row by row. A page is read without locks, in the order of its index, whether or not its rows may be archived: so every page costs the
// same. Rows to archive are then found again by ctid: by id the planner would have a choice, and chooses badly after bulk
// loads. The conditions are repeated where rows are locked, which checks them against the newest version of a row; a row
// that another transaction has locked waits for a later run. One statement deletes and inserts, so a message is always in
// exactly one of the two tables.

/** What was done with one page. */
export interface ArchivedPage {
  /** Messages moved to the history. */
  readonly moved: number;
  /** Where the next page begins; `null`: this was the last. */
  readonly next: string | null;
}

/** Columns that a message gets when it moves to the history, if its row does not have them. */
interface Facts {
  readonly state: string;
  readonly publishedAt: string;
  readonly partition: string;
  readonly offset: string;
  readonly from: string;
}

const asStored: Facts = {
  state: 'g.state',
  publishedAt: 'g.published_at',
  partition: 'g.partition',
  offset: 'g."offset"',
  from: 'gone g',
};

/** A row that was merely passed takes the facts of its batch. */
const asPassed: Facts = {
  state: `'published'::outbox.state`,
  publishedAt: 'coalesce(g.published_at, b.published_at)',
  partition: 'coalesce(g.partition, b.partition)',
  offset: 'coalesce(g."offset", b."offset")',
  from: 'gone g cross join lateral outbox.batch_facts(g.topic, g.lane, g.position) b',
};

/** `gone` moves into the history. */
const intoHistory = (facts: Facts) => `
  insert into outbox.message_history (id, topic, lane, position, key, ref, payload, content_type, headers, state, workflow_id,
    due_at, workflow_due_at, attempts, sends, last_error, maybe_published, partition, "offset", confirm_by, created_at,
    updated_at, published_at, supersedes, archived_at, expires_at, expunged_at)
  select g.id, g.topic, g.lane, g.position, g.key, g.ref, g.payload, g.content_type, g.headers, ${facts.state}, g.workflow_id,
    g.due_at, g.workflow_due_at, g.attempts, g.sends, g.last_error, g.maybe_published, ${facts.partition}, ${facts.offset}, g.confirm_by,
    g.created_at, g.updated_at, ${facts.publishedAt}, g.supersedes, outbox.clock(), g.expires_at,
    g.expunged_at
  from ${facts.from} returning 1`;

/** A lane and how far its messages may be archived. */
export interface ArchivableLane extends Lane {
  /** Messages up to here were passed long enough ago. */
  readonly upTo: string;
  /** Messages up to here were passed so long ago that it no longer matters whether a dead owner has seen them. */
  readonly suspectUpTo: string;
  /** A dead owner may have seen some of its messages. */
  readonly suspected: boolean;
}

/**
 * Lanes that have passed something, with the positions that they had passed `ageMs` ago.
 *
 * The recorded batches show how far a lane had come at that time. Late rows make batches that end below others, hence the
 * greatest of the last hundred; a lane without a newer batch has not moved since.
 */
export async function readArchivableLanes(
  sql: Sql,
  ageMs: number,
  suspectAgeMs: number,
): Promise<readonly ArchivableLane[]> {
  const passedBefore = (age: string) => `
    case when not exists (select from outbox.batch b where b.topic = l.topic and b.lane = l.n
        and b.published_at > outbox.clock() - ${age} * interval '1 ms') then l.cursor
      else coalesce((select max(b.last_position) from (select last_position from outbox.batch
        where topic = l.topic and lane = l.n and published_at <= outbox.clock() - ${age} * interval '1 ms'
        order by published_at desc limit 100) b), 0) end`;
  return sql.query<ArchivableLane>(
    `select l.topic, l.n as lane, ${passedBefore('$1')} as "upTo", ${passedBefore('$2')} as "suspectUpTo",
       l.suspect is not null as suspected
     from outbox.lane l where l.snapshot is not null and l.cursor > 0
     order by l.topic, l.n`,
    [ageMs, suspectAgeMs],
  );
}

/**
 * Moves a page of messages that their lane has passed. Messages that were changed less than `ageMs` ago stay, and so do
 * those that a dead owner may have seen, as long as that matters. Of a topic with confirmation only what was published before it
 * asked for receipts is merely passed: a message that awaits one is published by its row.
 */
export async function archivePassed(
  sql: Sql,
  { topic, lane, upTo, suspectUpTo }: ArchivableLane,
  page: { readonly after: string; readonly ageMs: number; readonly limit: number },
): Promise<ArchivedPage> {
  const [row] = await sql.query<ArchivedPage>(
    `with page as materialized (
       select m.ctid, m.position from only outbox.message m
       where m.topic = $1 and m.lane = $2 and m.state = 'ready' and m.position > 0 and m.position > $3
         and m.position <= $4
       order by m.position limit $7
     ), picked as materialized (
       select m.ctid from only outbox.message m
         join outbox.lane l on l.topic = m.topic and l.n = m.lane
       where m.ctid = any(array(select ctid from page)) and m.topic = $1 and m.lane = $2 and m.state::text = 'ready'
         and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)
         and (m.position <= $5 or l.suspect is null or not pg_visible_in_snapshot(m.xid, l.suspect))
         and m.updated_at <= outbox.clock() - $6 * interval '1 ms'
       for update of m skip locked
     ), gone as (
       delete from only outbox.message m where m.ctid = any(array(select ctid from picked)) returning m.*
     ), moved as (${intoHistory(asPassed)})
     select (select count(*)::integer from moved) as moved,
       case when (select count(*) from page) = $7 then (select max(position) from page) end as next`,
    [topic, lane, page.after, upTo, suspectUpTo, page.ageMs, page.limit],
  );
  return row ?? { moved: 0, next: null };
}

/** Where a page of finished messages begins: after this time and id. */
export interface FinishedCursor {
  readonly updatedAt: string;
  readonly id: string;
}

/** Before all finished messages. */
export const firstFinished: FinishedCursor = {
  updatedAt: '-infinity',
  id: '00000000-0000-0000-0000-000000000000',
};

/**
 * Moves a page of messages whose rows say that they are finished, the longest unchanged first. Published ones that await a
 * receipt stay until they are confirmed; failed ones that block their key stay, and those of `tellingOf` that are not reported yet.
 */
export async function archiveFinished(
  sql: Sql,
  state: State,
  page: {
    readonly after: FinishedCursor;
    readonly ageMs: number;
    readonly limit: number;
    readonly tellingOf: readonly string[];
  },
): Promise<{ readonly moved: number; readonly next: FinishedCursor | null }> {
  const [row] = await sql.query<{ moved: number; updatedAt: string | null; id: string | null }>(
    `with page as materialized (
       select m.ctid, m.updated_at, m.id from only outbox.message m
       where m.state = $1::outbox.state and (m.updated_at, m.id) > ($2::timestamptz, $3::uuid)
         and m.state in ('published', 'confirmed', 'failed', 'canceled', 'superseded', 'discarded', 'expired')
         and m.updated_at <= outbox.clock() - $4 * interval '1 ms'
       order by m.updated_at, m.id limit $5
     ), picked as materialized (
       select m.ctid from only outbox.message m left join outbox.topic t on t.name = m.topic
       where m.ctid = any(array(select ctid from page)) and m.state::text = $1::text
         and m.updated_at <= outbox.clock() - $4 * interval '1 ms'
         and (m.state::text <> 'published' or t.confirm_group is null or m.confirm_by is null)
         and (m.state::text <> 'failed' or t.exhausted is distinct from 'block-key')
         and (m.state::text <> 'failed' or m.notified is not false or m.topic <> all($6::text[]))
       for update of m skip locked
     ), gone as (
       delete from only outbox.message m where m.ctid = any(array(select ctid from picked)) returning m.*
     ), moved as (${intoHistory(asStored)}), last as (
       select updated_at, id from page order by updated_at desc, id desc limit 1
     )
     select (select count(*)::integer from moved) as moved, l.updated_at::text as "updatedAt", l.id
     from (select 1) one left join last l on (select count(*) from page) = $5`,
    [state, page.after.updatedAt, page.after.id, page.ageMs, page.limit, [...page.tellingOf]],
  );
  if (row === undefined) return { moved: 0, next: null };
  const { moved, updatedAt, id } = row;
  return { moved, next: updatedAt === null || id === null ? null : { updatedAt, id } };
}
