import type { Sql } from '../database/database.ts';
import type { LaneHold } from '../lane/lease.ts';

/** A lane whose relay did not free it, or that waits for something. */
export interface LaneFacts {
  readonly topic: string;
  readonly lane: number;
  /** A relay has taken it and has not freed it, but its lease is over. */
  readonly expired: boolean;
  /** Why it waits; `null`: it does not, nothing of it is due, or it is paused. */
  readonly hold: Pick<LaneHold, 'scope' | 'reason'> | null;
}

/** A change of lanes or partitions that has begun and is not complete. */
export interface ChangeFacts {
  readonly topic: string;
  readonly kind: 'lanes' | 'partitions';
  readonly wanted: number;
  readonly openMs: number;
}

/** A month of the history. */
export interface MonthFacts {
  readonly name: string;
  /** Milliseconds since the month ended; negative before its end. */
  readonly endedMs: number;
  readonly bytes: number;
}

/** Lanes with an expired lease or a hold. A lease that ends in a distant future is from before the clock was set back. */
export async function readLaneFacts(sql: Sql): Promise<readonly LaneFacts[]> {
  return sql.query<LaneFacts>(
    `select topic, n as lane, owner is not null and not taken as expired, hold
     from (select l.topic, l.n, l.owner, outbox.lane_taken(l) as taken,
         case when l.hold is not null and not outbox.is_paused(l.topic) and (outbox.has_work(l) or exists (
           select from only outbox.message m where m.topic = l.topic and m.lane = l.n and m.state in ('waiting', 'retrying')
             and m.due_at <= outbox.clock())) then l.hold end as hold
       from outbox.lane l) l
     where owner is not null and not taken or hold is not null order by 1, 2`,
  );
}

export async function readChangeFacts(sql: Sql): Promise<readonly ChangeFacts[]> {
  return sql.query<ChangeFacts>(
    `select topic, kind, wanted, (extract(epoch from clock_timestamp() - begun_at) * 1000)::float8 as "openMs"
     from outbox.topic_change order by 1`,
  );
}

/** Sizes include indexes. */
export async function readMonths(sql: Sql): Promise<readonly MonthFacts[]> {
  return sql.query<MonthFacts>(
    `select name, (extract(epoch from outbox.clock() - until) * 1000)::float8 as "endedMs", bytes from (
       select c.relname as name, pg_total_relation_size(c.oid)::float8 as bytes,
         (regexp_match(pg_get_expr(c.relpartbound, c.oid), $$TO \\('([^']+)'\\)$$))[1]::timestamptz as until
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'outbox.message_history'::regclass) p
     order by until`,
  );
}
