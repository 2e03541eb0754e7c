import { type ListedMessage, matchesSql } from '../message/list.ts';
import { type Selection, walkBy } from './selection.ts';
import type { Walk } from './walk.ts';

/** The columns of the filter, of a message that its lane has passed. */
const passedColumns = `m.position, m.id, m.topic, 'published'::outbox.state as state, m.key, m.ref, m.last_error, m.created_at, m.due_at,
  m.headers ->> 'outbox-replay-of' as replay_of, m.expunged_at`;
const storedColumns = passedColumns.replace(`'published'::outbox.state as state`, 'm.state');

const isPassed =
  'm.position <= s.cursor and outbox.is_passed(s.cursor, s.snapshot, s.late_cursor, s.late_snapshot, m.position, m.xid)';
const afterCursor = 'm.position > 0 and m.position >= $12 and (m.position, m.id) > ($12, $13)';
const order = 'order by m.position, m.id limit (select rows from quota)';

/** The messages of one lane in a table or a parent of leaves, all ready: their lane has passed them. */
const laneRows = (table: string, condition: string): string =>
  `(select ${passedColumns} from ${table} m
       where ${condition} and m.topic = $2 and m.lane = s.lane and m.state = 'ready' and ${afterCursor} ${order})`;

/** The lanes of the topic in a table, each by one look into the index. */
const lanesIn = (name: string, table: string): string => `${name} (lane) as (
    (select m.lane from ${table} m where m.topic = $2 and m.state = 'ready' and m.position > 0 order by m.lane limit 1)
    union all
    select n.lane from ${name} l cross join lateral (
      select m.lane from ${table} m where m.topic = $2 and m.state = 'ready' and m.position > 0 and m.lane > l.lane
      order by m.lane limit 1) n
  )`;

/**
 * Walks what is finished of one topic upwards by position, as the page of a selection does: each lane in the live tables and in
 * the archived leaves, each state beside the log, and the history by month. The branches name the parents in the order in
 * which leaves move, so that a leaf is not missed.
 *
 * Expunged messages have nothing to send. A copy that an earlier replay made is left out as long as its original is kept in the same topic. Parameters as there.
 */
const pageSql = `
  with recursive ${lanesIn('live', 'outbox.message')}, ${lanesIn('archived', 'outbox.log_history')}, sources as materialized (
    select row_number() over () as source, s.* from (
      select 'live' as part, l.lane, null::outbox.state as state, n.cursor, n.snapshot, n.late_cursor, n.late_snapshot
      from live l left join outbox.lane n on n.topic = $2 and n.n = l.lane where 'published' = any($3::text[])
      union all
      select 'archived', a.lane, null, null, null, null, null from archived a where 'published' = any($3::text[])
      union all
      select 'beside', null, x.state::outbox.state, null, null, null, null from unnest($3::text[]) x (state)
      union all
      select 'history', null, null, null, null, null, null
    ) s
  ), quota as materialized (
    select greatest($14::bigint, $15::bigint / greatest(1, (select count(*) from sources))) as rows
  ), walked as materialized (
    select s.source, w.*
    from sources s cross join lateral (
      ${laneRows('only outbox.message', `s.part = 'live' and ${isPassed}`)}
      union all
      ${laneRows('outbox.log', `s.part = 'live' and ${isPassed}`)}
      union all
      ${laneRows('outbox.log_passed', `s.part = 'live'`)}
      union all
      ${laneRows('outbox.log_history', `s.part = 'archived'`)}
      union all
      (select ${storedColumns} from only outbox.message m
       where s.part = 'beside' and m.topic = $2 and m.state = s.state and m.state <> 'ready' and ${afterCursor} ${order})
      union all
      (select ${storedColumns} from outbox.message_history m
       where s.part = 'history' and m.topic = $2 and ${afterCursor} ${order})
    ) w
  ), counted as (
    -- Each of the three branches of a lane has the quota.
    select w.source, w.position, w.id, row_number() over (partition by w.source order by w.position, w.id) as n from walked w
  ), floor as materialized (
    select c.position, c.id from counted c where c.n = (select rows from quota) order by c.position, c.id limit 1
  )
  select a.id, a.position, f.position as "floorPosition", f.id as "floorId"
  from (values (1)) one left join floor f on true left join lateral (
    select a.id, a.position from walked a
    where (f.id is null or (a.position, a.id) <= (f.position, f.id)) and ${matchesSql} and a.created_at < $11::text::timestamptz
      and a.expunged_at is null and not exists (select from outbox.audit u where u.bulk_id = $16::uuid and u.message_id = a.id offset 0)
      and (a.replay_of is null or not exists (
        select from outbox.message o where o.id = a.replay_of::uuid and o.topic = $2
        union all select from outbox.log_history o where o.id = a.replay_of::uuid and o.topic = $2
        union all select from outbox.message_history o where o.id = a.replay_of::uuid and o.topic = $2))
    group by a.position, a.id order by a.position, a.id limit $14
  ) a on true`;

/**
 * The named messages, each by a look into the indexes of its id, also copies of an earlier replay. $17 ids; $15 is not used. Grouped,
 * because a query that is planned while a leaf moves may find its messages twice.
 */
const namedSql = `
  select a.id, a.position, null::bigint as "floorPosition", null::uuid as "floorId"
  from (values (1)) one left join lateral (
    select a.id, a.position from outbox.message_all a
    where a.id = any($17::uuid[]) and (a.position, a.id) > ($12::bigint, $13::uuid) and $15::bigint is not null
      and ${matchesSql} and a.created_at < $11::text::timestamptz and a.expunged_at is null
      and not exists (select from outbox.audit u where u.bulk_id = $16::uuid and u.message_id = a.id offset 0)
    group by a.position, a.id order by a.position, a.id limit $14
  ) a on true`;

/** Walks the messages of one topic that a replay sends again: those of these ids, else all. */
export const walkOfReplay = (selection: Selection, ids?: readonly string[]): Walk<ListedMessage> =>
  ids === undefined ? walkBy(pageSql, selection) : walkBy(namedSql, selection, [[...ids]]);
