import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';

/**
 * A filter of messages. All given conditions must hold.
 *
 * @typeParam Time - ISO times where it is stored
 */
export interface MessageFilter<Time = Date> {
  /** UUID of the message; finds archived ones, too. */
  readonly id?: string;
  /** Name of the topic, exactly. */
  readonly topic?: string;
  /** States as `status` and `show` name them, at least one. @defaultValue all */
  readonly states?: readonly State[];
  /** The key, exactly. */
  readonly key?: string;
  /** The ref, exactly; with `topic` it finds archived messages, too. */
  readonly ref?: string;
  /** Part of the last error, case-insensitive. */
  readonly error?: string;
  /** Sent at this time or later. */
  readonly createdFrom?: Time;
  /** Sent before this time. */
  readonly createdTo?: Time;
  /** Due at this time or later. Messages that were due at once have no due time. */
  readonly dueFrom?: Time;
  /** Due before this time. */
  readonly dueTo?: Time;
}

/** A message in a list: everything but its payload and headers. */
export interface ListedMessage {
  /** UUID of the message; it travels to the consumer. */
  readonly id: string;
  /** Name of its topic. */
  readonly topic: string;
  /** Number of its lane in the topic, from 0. */
  readonly lane: number;
  /** Its position in the order of the lane, a 64-bit integer as a string. A message that becomes due gets a new one. */
  readonly position: string;
  /** Messages of one key are delivered in order; `null`: it has none. */
  readonly key: string | null;
  /** Business name, unique in the topic while the message waits; `null`: it has none. */
  readonly ref: string | null;
  /** The state as operators see it: `published` also if only the cursor of the lane says so. */
  readonly state: State;
  /** The Temporal workflow that delivers it: its lane's, or its own. */
  readonly workflowId: string;
  /** When it is or was due, or its next try; `null`: it was due at once. */
  readonly dueAt: Date | null;
  /** Number of failed tries. A retry of a failed message resets it to 0. */
  readonly attempts: number;
  /** The error of the last failed try; `null`: none has failed. */
  readonly lastError: string | null;
  /** When it was sent, on the database's clock. */
  readonly createdAt: Date;
  /** When its row was last written, on the database's clock; being passed by its lane does not write it. */
  readonly updatedAt: Date;
  /** When it was moved to the history; `null`: it is live. */
  readonly archivedAt: Date | null;
}

export interface ListPage {
  readonly messages: readonly ListedMessage[];
  /** Where the next page begins; `null`: this was the last. */
  readonly next: PageCursor | null;
}

/** The message after which a page begins. */
export interface PageCursor {
  readonly position: string;
  readonly id: string;
}

/**
 * Maximum number of rows that one page reads. Published messages are not indexed by state, key, error or time; so a page
 * contains the matches among this many rows, newest first, and may be short or empty although there are more.
 */
const readLimit = 20_000;

/** The columns that a walk reads: everything but payloads and headers. */
export const walkedColumns = `m.id, m.topic, m.lane, m.position, m.xid, m.key, m.ref, m.state,
  coalesce(m.workflow_id, outbox.lane_workflow_id(m.topic, m.lane)) as workflow_id, m.due_at, m.attempts,
  m.last_error, m.created_at, m.updated_at`;

/** The columns of {@link ListedMessage}, on a row `a` of `outbox.message_all`. */
export const listedColumns = `a.id, a.topic, a.lane, a.position, a.key, a.ref, a.state::text as state, a.workflow_id as "workflowId",
  a.due_at as "dueAt", a.attempts, a.last_error as "lastError", a.created_at as "createdAt", a.updated_at as "updatedAt",
  a.archived_at as "archivedAt"`;

/** The filter, on a row `a` as operators see it. Parameters 1 to 10 are {@link filterValues}. */
export const matchesSql = `($1::uuid is null or a.id = $1) and ($2::text is null or a.topic = $2)
  and ($3::text[] is null or a.state::text = any($3)) and ($4::text is null or a.key = $4) and ($5::text is null or a.ref = $5)
  and ($6::text is null or strpos(lower(a.last_error), lower($6)) > 0)
  and ($7::timestamptz is null or a.created_at >= $7) and ($8::timestamptz is null or a.created_at < $8)
  and ($9::timestamptz is null or a.due_at >= $9) and ($10::timestamptz is null or a.due_at < $10)`;

/**
 * Live messages, newest first by position; with a filter by id, or by topic and ref, archived ones too.
 *
 * Every access path is an index: the id, the ref, or for each topic a walk down the positions of its lanes (ready rows,
 * including published ones) and of its states (all others).
 */
export async function listMessages(
  sql: Sql,
  filter: MessageFilter<string>,
  limit: number,
  after: PageCursor | null,
): Promise<ListPage> {
  const named = filter.id !== undefined || (filter.topic !== undefined && filter.ref !== undefined);
  return named ? listNamed(sql, filter, limit, after) : listLive(sql, filter, limit, after);
}

/** Parameters 1 to 10 of {@link matchesSql}. */
export function filterValues(filter: MessageFilter<string>): readonly unknown[] {
  const { id, topic, states, key, ref, error, createdFrom, createdTo, dueFrom, dueTo } = filter;
  return [
    id ?? null,
    topic ?? null,
    states === undefined ? null : [...states],
    key ?? null,
    ref ?? null,
    error ?? null,
    createdFrom ?? null,
    createdTo ?? null,
    dueFrom ?? null,
    dueTo ?? null,
  ];
}

function valuesOf(filter: MessageFilter<string>, after: PageCursor | null): readonly unknown[] {
  return [...filterValues(filter), after?.position ?? null, after?.id ?? null];
}

/** By id or ref: few messages, live and archived. */
async function listNamed(
  sql: Sql,
  filter: MessageFilter<string>,
  limit: number,
  after: PageCursor | null,
): Promise<ListPage> {
  const way = filter.id === undefined ? 'a.topic = $2 and a.ref = $5' : 'a.id = $1';
  const found = await sql.query<ListedMessage>(
    `select ${listedColumns} from outbox.message_all a
     where ${way} and ${matchesSql} and ($11::bigint is null or (a.position, a.id) < ($11, $12::uuid))
     order by a.position desc, a.id desc limit $13`,
    [...valuesOf(filter, after), limit + 1],
  );
  return pageOf(found, limit, null);
}

/**
 * Walks every source (a lane's ready rows, a topic's rows of another state) downwards from the page's beginning. Of a source
 * that was not read to its end, the lower rows are unknown. So the page ends with the last row of the highest such source
 * (`floor`), after which the next page begins. Edits of a message share its position, so a row is identified by its id, too.
 */
const liveSql = `
  with recursive lanes (topic, lane) as (
    (select m.topic, m.lane from outbox.message m where m.state = 'ready' and ($2::text is null or m.topic = $2)
     order by m.topic, m.lane limit 1)
    union all
    select n.topic, n.lane from lanes l cross join lateral (
      select m.topic, m.lane from outbox.message m where m.state = 'ready' and (m.topic, m.lane) > (l.topic, l.lane)
        and ($2::text is null or m.topic = $2)
      order by m.topic, m.lane limit 1) n
  ), groups (topic, state) as (
    (select m.topic, m.state from only outbox.message m where m.state <> 'ready' and m.position > 0 and ($2::text is null or m.topic = $2)
     order by m.topic, m.state limit 1)
    union all
    select n.topic, n.state from groups g cross join lateral (
      select m.topic, m.state from only outbox.message m where m.state <> 'ready' and m.position > 0
        and (m.topic, m.state) > (g.topic, g.state) and ($2::text is null or m.topic = $2)
      order by m.topic, m.state limit 1) n
  ), sources as materialized (
    select topic, lane, null::outbox.state as state from lanes
    where $3::text[] is null or $3 && array['ready', 'published']
    union all
    select topic, null, state from groups where $3::text[] is null or state::text = any($3)
  ), quota as materialized (
    select greatest($13::bigint + 1, $14::bigint / greatest(1, (select count(*) from sources))) as rows
  ), walked as materialized (
    select s.lane as source_lane, s.state as source_state, w.*
    from sources s cross join lateral (
      (select ${walkedColumns} from outbox.message m
       where s.state is null and m.topic = s.topic and m.lane = s.lane and m.state = 'ready' and m.position > 0
         and m.position <= coalesce($11, 9223372036854775807) and ($11::bigint is null or (m.position, m.id) < ($11, $12::uuid))
       order by m.position desc, m.id desc limit (select rows from quota))
      union all
      (select ${walkedColumns} from only outbox.message m
       where s.state is not null and m.topic = s.topic and m.state = s.state and m.state <> 'ready' and m.position > 0
         and ($11::bigint is null or (m.position, m.id) < ($11, $12::uuid))
       order by m.position desc, m.id desc limit (select rows from quota))
    ) w
  ), floor as materialized (
    select d.position, d.id
    from (select distinct on (topic, source_lane, source_state) position, id,
        count(*) over (partition by topic, source_lane, source_state) as read
      from walked order by topic, source_lane, source_state, position, id) d
    where d.read >= (select rows from quota)
    order by d.position desc, d.id desc limit 1
  ), seen as (
    select w.id, w.topic, w.lane, w.position, w.key, w.ref, w.workflow_id, w.due_at, w.attempts, w.last_error, w.created_at,
      w.updated_at, case when w.state = 'ready' and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, w.position, w.xid)
        then 'published'::outbox.state else w.state end as state
    from walked w left join outbox.lane l on l.topic = w.topic and l.n = w.lane
  )`;

async function listLive(
  sql: Sql,
  filter: MessageFilter<string>,
  limit: number,
  after: PageCursor | null,
): Promise<ListPage> {
  const rows = await sql.query<ListedMessage & Floor>(
    `${liveSql}
     select x.*, f.position as "floorPosition", f.id as "floorId"
     from (select) one left join floor f on true left join lateral (
       select ${listedColumns}
       from (select w.*, null::timestamptz as archived_at from seen w) a
       where (f.id is null or (a.position, a.id) >= (f.position, f.id)) and ${matchesSql}
       order by a.position desc, a.id desc limit $13 + 1
     ) x on true`,
    [...valuesOf(filter, after), limit, isSearch(filter) ? readLimit : 0],
  );
  const found = rows.map(({ floorId, floorPosition, ...message }) => ({ floorId, floorPosition, message }));
  const messages = found.map(({ message }) => message).filter(({ id }) => id !== null);
  const { floorId = null, floorPosition = null } = found[0] ?? {};
  const floor = floorId === null || floorPosition === null ? null : { position: floorPosition, id: floorId };
  return pageOf(messages, limit, floor);
}

/** The last row that a page may contain; nulls: every source was read to its end. */
interface Floor {
  readonly floorPosition: string | null;
  readonly floorId: string | null;
}

/** True if rows of a source may have to be skipped; otherwise one page of each source is enough. */
function isSearch(filter: MessageFilter<string>): boolean {
  const { states, key, ref, error, createdFrom, createdTo, dueFrom, dueTo } = filter;
  // Both are ready in the table.
  const isOneOfTwo = states !== undefined && states.includes('ready') !== states.includes('published');
  const others = [key, ref, error, createdFrom, createdTo, dueFrom, dueTo];
  return isOneOfTwo || others.some((value) => value !== undefined);
}

/** One more row than the limit was requested: it shows that there are more, and is left to the next page. */
function pageOf(found: readonly ListedMessage[], limit: number, floor: PageCursor | null): ListPage {
  const messages = found.slice(0, limit);
  const last = messages.at(-1);
  if (found.length > limit && last !== undefined)
    return { messages, next: { position: last.position, id: last.id } };
  return { messages, next: floor };
}
