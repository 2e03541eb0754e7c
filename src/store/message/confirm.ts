import type { Sql } from '../database/database.ts';
import { takeOutFree } from './take-out.ts';

/** How many messages of a topic were confirmed. */
export interface Confirmed {
  readonly topic: string;
  readonly count: number;
}

/** The result of a receipt. */
export interface ConfirmAnswer {
  readonly confirmed: readonly Confirmed[];
  /** Ids whose rows another transaction, such as a settle, has locked: to be tried again. */
  readonly locked: readonly string[];
}

interface ConfirmRow {
  readonly topic: string | null;
  readonly count: number;
  readonly locked: readonly string[];
  /** Ids of messages in the log: they were published before their topic asked for receipts, or are just being sent. */
  readonly logged: readonly string[];
}

/**
 * Confirms the messages that a receipt names: those of topics that await receipts of this group, in any state in which a
 * message may have been sent. A receipt proves that its message was published, even if the settle has not committed yet. All
 * other ids, for example those of other installations, match no row.
 *
 * It does not wait for locks, so that it cannot deadlock with a settle: locked ids are returned. Idempotent.
 *
 * @param ids UUIDs, at most 1,000
 */
export async function confirmMessages(
  sql: Sql,
  group: string,
  ids: readonly string[],
): Promise<ConfirmAnswer> {
  const rows = await sql.query<ConfirmRow>(
    `with named as materialized (
       select m.id, m.tableoid <> 'outbox.message'::regclass as logged from outbox.message m join outbox.topic t on t.name = m.topic
       where m.id = any($2::uuid[]) and t.confirm_group = $1
         and m.state::text in ('ready', 'retrying', 'published', 'failed', 'expired')
     ), mine as materialized (
       select m.id from only outbox.message m
       where m.id in (select id from named) and m.state::text in ('ready', 'retrying', 'published', 'failed', 'expired')
       order by m.id for update skip locked
     ), confirmed as (
       update only outbox.message m set state = 'confirmed', confirm_by = null, updated_at = outbox.clock()
       from mine where m.id = mine.id
       returning m.topic
     ), counted as (
       select topic, count(*)::integer as count from confirmed group by topic
     )
     select c.topic, coalesce(c.count, 0) as count,
       array(select id::text from named where not logged and id not in (select id from mine)) as locked,
       array(select id::text from named where logged) as logged
     from (select 1) one left join counted c on true`,
    [group, [...ids]],
  );
  const { locked = [], logged = [] } = rows[0] ?? {};
  const confirmed = rows.flatMap(({ topic, count }) => (topic === null ? [] : [{ topic, count }]));
  if (logged.length === 0) return { confirmed, locked };
  const free = await takeOutFree(sql, logged);
  const others = await confirmMessages(sql, group, free);
  return {
    confirmed: [...confirmed, ...others.confirmed],
    locked: [...locked, ...logged.filter((id) => !free.includes(id)), ...others.locked],
  };
}

/**
 * Restarts the receipt timeout of messages that a consumer has parked: it will try them again and send a receipt. They stay
 * published, and their sends so far no longer count, because each was answered; that they were sent says `published_at`.
 * Locked rows are skipped; that costs at most a resend that the inbox drops.
 *
 * @param ids UUIDs, at most 1,000
 */
export async function prolongParked(sql: Sql, group: string, ids: readonly string[]): Promise<void> {
  await sql.query(
    `update only outbox.message m set updated_at = outbox.clock(), sends = 0,
       confirm_by = outbox.clock() + t.receipt_timeout_ms[least(greatest(m.sends, 1), cardinality(t.receipt_timeout_ms))] * interval '1 ms'
     from outbox.topic t
     where m.id in (select id from only outbox.message where id = any($2::uuid[]) and state::text = 'published'
         and confirm_by is not null order by id for update skip locked)
       and t.name = m.topic and t.confirm_group = $1`,
    [group, [...ids]],
  );
}
