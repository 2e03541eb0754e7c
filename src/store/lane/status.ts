import type { Sql } from '../database/database.ts';
import { holdOf, type LaneHold, type StoredHold } from './lease.ts';

/** State of one lane. */
export interface LaneStatus {
  /** Name of the topic. */
  readonly topic: string;
  /** Number of the lane; `null` for messages of a topic that no relay has announced. */
  readonly lane: number | null;
  /** Age of the oldest message that is due and not published; `null`: none. */
  readonly oldestDueMs: number | null;
  /** Ready messages not yet published; counting stops at 100,000. */
  readonly ready: number;
  /** Messages behind a retrying or failed one of their key; counting stops at 100,000 of the topic. */
  readonly blocked: number;
  /** Messages that wait for their next try; counting stops at 100,000 of the topic. */
  readonly retrying: number;
  /** Messages that are not due yet; counting stops at 100,000. */
  readonly waiting: number;
  /** Messages that have failed and wait for a person; counting stops at 100,000 of the topic. */
  readonly failed: number;
  /** What it waits for, whether or not it has an owner; `null`: nothing, nothing of it is due, or it is paused. */
  readonly hold: LaneHold | null;
  /** Its ready messages wait for the topic's rate, which lets the next one go in so many milliseconds; `null`: they do not. */
  readonly rateWaitMs: number | null;
  /** True if an operator has paused the topic or its transport. */
  readonly paused: boolean;
  /** True while a relay drains the lane. */
  readonly owned: boolean;
  /** True if a relay could do something here now: send, release what is due, or report what has failed. */
  readonly hasWork: boolean;
  /** The Temporal workflow `deliverLane` of the lane; `null` like `lane`. */
  readonly workflowId: string | null;
}

/** Counting of a lane, or of a topic and state, stops here, so that a status never takes long. */
const countLimit = 100_000;

/**
 * The ready messages of lane `l` that it has not passed, up to `$1` of each kind, in the order of an index: a bitmap would be made of a
 * whole backlog. Nearly all of that is beyond the cursor; those before it are from transactions that were open when it moved.
 */
const unpublished = `
  (select * from outbox.message r where r.topic = l.topic and r.lane = l.lane and r.state = 'ready' and r.position > 0
     and r.position > l.cursor order by r.position limit $1)
  union all
  (select * from (
     select * from outbox.message r where r.topic = l.topic and r.lane = l.lane and r.state = 'ready'
       and r.xid >= pg_snapshot_xmax(l.snapshot)
       and not outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, r.position, r.xid) order by r.xid limit $1) r
   where r.position + 0 <= l.cursor)
  union all
  (select s.* from pg_snapshot_xip(l.snapshot) running (xid) cross join lateral (
     select * from outbox.message r where r.topic = l.topic and r.lane = l.lane and r.state = 'ready' and r.xid = running.xid
       and r.position + 0 <= l.cursor
       and not outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, r.position, r.xid) offset 0) s limit $1)`;

/**
 * The lanes of all topics, those with the oldest due message first.
 *
 * @param countingTo where counting stops, for those who ask often
 */
export async function readStatus(sql: Sql, countingTo = countLimit): Promise<readonly LaneStatus[]> {
  const rows = await sql.query<Omit<LaneStatus, 'hold'> & { readonly hold: StoredHold | null }>(
    `with recursive topics (topic) as (
       (select min(topic) from outbox.message where state = 'ready')
       union all
       select (select min(m.topic) from outbox.message m where m.state = 'ready' and m.topic > t.topic) from topics t where t.topic is not null
     ), lanes as (
       select l.topic, l.n as lane, l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, l.hold, outbox.lane_taken(l) as owned,
         l.untold_from is not null as untold,
         outbox.lane_workflow_id(l.topic, l.n) as workflow_id
       from outbox.lane l where exists (select from outbox.topic t where t.name = l.topic)
     ), pending as (
       select m.topic, m.lane, m.state, m.due_at, m.created_at
       from lanes l cross join lateral (${unpublished}
       ) m
       union all
       select b.* from (select distinct topic from lanes) t
       cross join (values ('retrying'::outbox.state), ('blocked'), ('failed')) s (state) cross join lateral (
         select m.topic, m.lane, m.state, m.due_at, m.created_at from only outbox.message m
         where m.topic = t.topic and m.state = s.state and m.state <> 'ready' and m.position > 0 order by m.position limit $1) b
       union all
       (select topic, lane, state, due_at, created_at from only outbox.message where state in ('waiting', 'retrying')
          and state = 'waiting' limit $1)
       union all
       select u.topic, null::integer, u.state, u.due_at, u.created_at from topics t cross join lateral (
         select * from outbox.message m where m.topic = t.topic and m.state = 'ready' order by m.lane, m.position limit $1) u
       where t.topic is not null and not exists (select from outbox.topic a where a.name = t.topic)
     ), counted as (
       select p.topic, case when t.name is not null then p.lane end as lane,
         count(*) filter (where state = 'ready')::integer as ready, count(*) filter (where state = 'blocked')::integer as blocked,
         count(*) filter (where state = 'retrying')::integer as retrying, count(*) filter (where state = 'waiting')::integer as waiting,
         count(*) filter (where state = 'failed')::integer as failed,
         bool_or(state = 'ready' or state in ('waiting', 'retrying') and due_at <= outbox.clock()) as due,
         extract(epoch from outbox.clock() - min(coalesce(due_at, created_at)) filter (where state in ('ready', 'blocked')
           or state in ('waiting', 'retrying') and due_at <= outbox.clock())) * 1000 as age
       from pending p left join outbox.topic t on t.name = p.topic group by 1, 2
     )
     select coalesce(l.topic, c.topic) as topic, coalesce(l.lane, c.lane) as lane, case when c.age is not null then greatest(c.age, 0)::float8 end as "oldestDueMs",
       coalesce(c.ready, 0) as ready, coalesce(c.blocked, 0) as blocked, coalesce(c.retrying, 0) as retrying,
       coalesce(c.waiting, 0) as waiting, coalesce(c.failed, 0) as failed, l.hold, coalesce(l.owned, false) as owned,
       case when c.ready > 0 then (select nullif(w.wait_ms, 0) from outbox.rate_left(l.topic, clock_timestamp()) w) end as "rateWaitMs",
       outbox.is_paused(coalesce(l.topic, c.topic)) as paused,
       l.workflow_id as "workflowId",
       coalesce(l.untold, false) or coalesce(c.due, false) or case when c.blocked > 0 then exists (select from outbox.freed_key f
         where f.topic = c.topic and f.lane = c.lane) else false end as "hasWork"
     from lanes l full join counted c on c.topic = l.topic and c.lane = l.lane
     order by c.age desc nulls last, 1, 2`,
    [countingTo],
  );
  // Of a topic that no relay serves any more nobody would end the hold.
  return rows.map((row) => ({ ...row, hold: row.hasWork && !row.paused ? holdOf(row.hold) : null }));
}
