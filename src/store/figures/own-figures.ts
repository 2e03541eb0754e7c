import type { Sql } from '../database/database.ts';
import type { Figures, OverdueReceipts, StandingGroup } from './figures.ts';

/** How late the first message is that waits for its time although that has come; `null`: none does. */
export async function readUnreleased(sql: Sql): Promise<number | null> {
  const [row] = await sql.query<{ lateMs: number }>(
    `select (extract(epoch from outbox.clock() - due_at) * 1000)::float8 as "lateMs" from only outbox.message
     where state in ('waiting', 'retrying') and due_at <= outbox.clock() order by due_at, position limit 1`,
  );
  return row?.lateMs ?? null;
}

/** Tries to publish within the last five minutes. Failures are looked for among the last attempts of all. */
export async function readTries(sql: Sql, limit: number): Promise<Figures['tries']> {
  const [row] = await sql.query<Figures['tries']>(
    `select
       (select coalesce(sum(b.count), 0)::float8 from outbox.lane l cross join lateral (
          select s.count from outbox.batch s
          where s.topic = l.topic and s.lane = l.n and s.published_at > outbox.clock() - interval '5 min'
          order by s.published_at desc limit $1) b) as published,
       (select count(*)::float8 from (select at, outcome from outbox.attempt order by id desc limit $1) a
        where a.outcome <> 'acknowledged' and a.at > outbox.clock() - interval '5 min') as failed`,
    [limit],
  );
  return row ?? { published: 0, failed: 0 };
}

/**
 * If no relay has seen a group lag for this long, it is no longer watched, was deleted, or its broker is down: other alerts cover
 * that.
 */
const unwatchedMs = 10 * 60_000;

/** The groups for which messages wait, by a topic of their address, as the look at where groups stand noted them, those that stand longest first. */
export async function readStandingGroups(sql: Sql): Promise<readonly StandingGroup[]> {
  return sql.query<StandingGroup>(
    `select p.consumer_group as "group",
       coalesce((select min(t.name) from outbox.topic t where t.transport = p.transport and t.address = p.address), p.address) as topic,
       s.stands as "standsMs", extract(epoch from outbox.clock())::float8 * 1000 - s.since as "sinceMs"
     from outbox.group_place p cross join lateral (
       select max((e.value ->> 'standsMs')::float8) as stands, min((e.value ->> 'sinceMs')::float8) as since
       from jsonb_each(p.places) e) s
     where s.since is not null and p.looked_at > clock_timestamp() - $1 * interval '1 ms' order by 3 desc limit 1000`,
    [unwatchedMs],
  );
}

/** Published messages whose receipt is overdue, of the topics that ask for receipts. */
export async function readOverdueReceipts(sql: Sql, limit: number): Promise<readonly OverdueReceipts[]> {
  return sql.query<OverdueReceipts>(
    `select t.name as topic, o.messages, o.oldest as "oldestMs" from outbox.topic t cross join lateral (
       select count(*)::integer as messages, (extract(epoch from outbox.clock() - min(m.confirm_by)) * 1000)::float8 as oldest
       from (select confirm_by from only outbox.message where topic = t.name and state = 'published' and confirm_by is not null
           and position > 0 and confirm_by <= outbox.clock() order by confirm_by, position limit $1) m) o
     where o.messages > 0 order by 1`,
    [limit],
  );
}

/** The leaves of the log that are closed and not in the history, and since when nothing has been sent from the oldest. */
export async function readLeavesBehind(
  sql: Sql,
): Promise<{ readonly leaves: number; readonly oldestMs: number | null }> {
  const [row] = await sql.query<{ leaves: number; oldestMs: number | null }>(
    `select count(*)::integer as leaves,
       (extract(epoch from outbox.clock() - min(coalesce(newest_at, closed_at))) * 1000)::float8 as "oldestMs"
     from outbox.leaf where closed_at is not null and archived_at is null`,
  );
  return row ?? { leaves: 0, oldestMs: null };
}
