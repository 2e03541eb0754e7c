import type { Sql } from '../database/database.ts';
import {
  filterValues,
  type ListedMessage,
  listedColumns,
  type MessageFilter,
  matchesSql,
  walkedColumns,
} from './list.ts';

/** From where a look of a tail continues. */
export interface TailPlace {
  /** What the last look could see. */
  readonly snapshot: string;
  /** ISO time: changes since then may not have been visible yet. */
  readonly since: string;
}

/** A message that a look has read. */
export interface TailedRow extends ListedMessage {
  /** False: it has only what cannot change about a message in common with the filter. */
  readonly matches: boolean;
}

export interface TailLook extends TailPlace {
  /** In no order; a message that has not changed may be among them. */
  readonly rows: readonly TailedRow[];
  /** True: more changed than one look reads, and the oldest were left out. */
  readonly full: boolean;
}

/** New rows that one look reads, newest first; and finished ones of each state. */
const newLimit = 20_000;
const endedLimit = 500;
/** Matching rows that one look answers, newest first. */
const answerLimit = 1_000;
/** A transaction that ends a message may commit so much after the time that it has written. */
const lateCommitSeconds = 10;

/** What cannot change about a message; parameters as of {@link matchesSql}. */
const lastingSql = `($1::uuid is null or a.id = $1) and ($2::text is null or a.topic = $2)
  and ($4::text is null or a.key = $4) and ($5::text is null or a.ref = $5)
  and ($7::timestamptz is null or a.created_at >= $7) and ($8::timestamptz is null or a.created_at < $8)`;

/** The predicate of the index message_finished. */
const ended = `m.state in ('published', 'confirmed', 'failed', 'canceled', 'superseded', 'discarded', 'expired')`;

/**
 * What became visible since the last look: rows of new transactions, exactly, as a relay looks at them; rows that ended, by their
 * time; and the rows that are followed, because a lane that passes a message does not write it. The first look reads no new rows.
 *
 * Each branch uses an index; those that read new and finished rows have a limit.
 */
const lookSql = `
  with fresh as materialized (
    select ${walkedColumns} from outbox.visible_since($11, $14) m
  ), ended as materialized (
    select w.* from unnest(enum_range(null::outbox.state)) s (state) cross join lateral (
      select ${walkedColumns} from only outbox.message m
      where m.state = s.state and ${ended} and m.updated_at >= coalesce($12, outbox.clock() - make_interval(secs => $16))
      order by m.updated_at desc, m.id desc limit $15) w
  ), read as (
    select * from fresh union select * from ended
    union select r.* from unnest($13::uuid[]) followed (id) cross join lateral (
      select ${walkedColumns} from outbox.message m where m.id = followed.id offset 0) r
  ), seen as (
    select r.id, r.topic, r.lane, r.position, r.key, r.ref, r.workflow_id, r.due_at, r.attempts, r.last_error, r.created_at,
      r.updated_at, null::timestamptz as archived_at, case when r.state = 'ready' and outbox.is_passed(l.cursor, l.snapshot,
        l.late_cursor, l.late_snapshot, r.position, r.xid) then 'published'::outbox.state else r.state end as state
    from read r left join outbox.lane l on l.topic = r.topic and l.n = r.lane
  )
  select pg_current_snapshot()::text as snapshot, (outbox.clock() - make_interval(secs => $16))::text as since,
    (select count(*) >= $14 from fresh) or exists (select from ended e group by e.state having count(*) >= $15) as full, x.*
  from (select) one left join lateral (
    select ${listedColumns}, (${matchesSql}) as matches from seen a where ${lastingSql}
    order by a.position desc, a.id desc limit $17) x on true`;

/**
 * One look.
 *
 * @param place of the look before; without one it only finds out where to begin
 * @param followed ids to read again
 */
export async function lookForTail(
  sql: Sql,
  filter: MessageFilter<string>,
  place: TailPlace | undefined,
  followed: readonly string[],
): Promise<TailLook> {
  const found = await sql.query<TailedRow & Omit<TailLook, 'rows'>>(lookSql, [
    ...filterValues(filter),
    place?.snapshot ?? null,
    place?.since ?? null,
    followed,
    newLimit,
    endedLimit,
    lateCommitSeconds,
    answerLimit,
  ]);
  const [first] = found;
  if (first === undefined) throw new Error('A look of a tail answers at least one row.');
  const rows = found.filter(({ id }) => id !== null).map(withoutPlace);
  const full = first.full || rows.length === answerLimit;
  return { snapshot: first.snapshot, since: first.since, full, rows };
}

function withoutPlace(row: TailedRow & Partial<Omit<TailLook, 'rows'>>): TailedRow {
  const { snapshot: _snapshot, since: _since, full: _full, ...message } = row;
  return message;
}
