import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';
import { relayStaleMs } from '../installation/relays.ts';
import { holdOf, type LaneHold, type StoredHold } from '../lane/lease.ts';

/** What decides whether and when a message is delivered, all from one snapshot. */
export interface DeliveryFacts {
  readonly state: State;
  readonly key: string | null;
  readonly topic: string;
  readonly archived: boolean;
  readonly dueInMs: number | null;
  readonly dueAt: Date | null;
  readonly expiresAt: Date | null;
  readonly maybePublished: boolean;
  readonly lastError: string | null;
  readonly supersededBy: string | null;
  readonly confirmBy: Date | null;
  /** False: no relay has announced the topic. */
  readonly topicKnown: boolean;
  readonly transport: string | null;
  readonly topicPaused: boolean;
  readonly transportPaused: boolean;
  /** The topic is paused by something else: a change of its lanes or partitions. */
  readonly changing: boolean;
  readonly hold: LaneHold | null;
  /** Its topic's rate; `null`: it has none. */
  readonly rate: {
    readonly messages: number;
    readonly perMs: number;
    /** Until it lets the next message go; 0: it would now. */
    readonly waitMs: number;
  } | null;
  /** True while a relay drains the lane. */
  readonly owned: boolean;
  /** Since when starts of the lane's workflow have had no effect. */
  readonly wantedSince: Date | null;
  /** How many relays run. */
  readonly relays: number;
  /** The message of the same key that must go first. */
  readonly blocker: { readonly id: string; readonly state: State } | null;
  /** Ready messages of the lane that go first, counted up to {@link countLimit}; late commits are left out. */
  readonly before: number;
}

/** Counting stops here. */
export const countLimit = 10_000;

/** The first message of a state before `a` in its key; each state has an index of its own. */
function earlierOfKey(state: 'retrying' | 'blocked' | 'failed'): string {
  return `select m.id, m.state, m.position from only outbox.message m
           where m.topic = a.topic and m.lane = a.lane and m.key = a.key and m.state = '${state}' and m.position < a.position
           order by m.position limit 1`;
}

/** The facts about a message; `undefined`: no message has this id. */
export async function readDeliveryFacts(sql: Sql, id: string): Promise<DeliveryFacts | undefined> {
  const [row] = await sql.query<Omit<DeliveryFacts, 'hold'> & { readonly hold: StoredHold | null }>(
    `select a.state::text as state, a.key, a.topic, a.archived_at is not null as archived, a.due_at as "dueAt",
       a.expires_at as "expiresAt", a.maybe_published as "maybePublished",
       (extract(epoch from a.due_at - outbox.clock()) * 1000)::float8 as "dueInMs", a.last_error as "lastError",
       (select c.id from only outbox.message c where c.supersedes = a.id limit 1) as "supersededBy", a.confirm_by as "confirmBy",
       t.name is not null as "topicKnown", t.transport, coalesce(t.paused, false) as "topicPaused",
       coalesce(x.paused, false) as "transportPaused",
       outbox.is_paused(a.topic) and not coalesce(t.paused, false) and not coalesce(x.paused, false) as changing,
       case when t.rate_of is not null then jsonb_build_object('messages', t.rate_messages, 'perMs', t.rate_per_ms,
         'waitMs', (select w.wait_ms from outbox.rate_left(t.name, clock_timestamp()) w)) end as rate,
       l.hold, coalesce(outbox.lane_taken(l), false) as owned,
       l.wanted_since as "wantedSince",
       blocker.found as blocker, coalesce(before.count, 0) as before, running.count as relays
     from outbox.message_all a
       left join outbox.topic t on t.name = a.topic
       left join outbox.transport x on x.name = t.transport
       left join outbox.lane l on l.topic = a.topic and l.n = a.lane
       left join lateral (
         select jsonb_build_object('id', b.id, 'state', b.state) as found from (
           (${earlierOfKey('retrying')}) union all (${earlierOfKey('blocked')})
           union all (${earlierOfKey('failed')}) ) b
         where a.state in ('ready', 'blocked') and (b.state <> 'failed' or t.exhausted = 'block-key')
         order by (b.state = 'blocked'), b.position limit 1) blocker on true
       left join lateral (
         select count(*)::integer from (
           select from outbox.message r where a.state = 'ready' and r.topic = a.topic and r.lane = a.lane and r.state = 'ready'
             and r.position > 0 and r.position > l.cursor and r.position < a.position
           order by r.position limit ${countLimit}) r) before on true
       cross join lateral (
         select count(*)::integer as count from outbox.relay r
         where r.seen_at > clock_timestamp() - $2 * interval '1 ms') running
     where a.id = $1`,
    [id, relayStaleMs],
  );
  return row === undefined ? undefined : { ...row, hold: holdOf(row.hold) };
}
