import type { Lane } from '../../core/lane.ts';
import type { ConfirmRules, RateRules } from '../../core/topic.ts';
import type { Sql } from '../database/database.ts';
import type { TopicChange } from './lanes-change.ts';

/** The policy of a topic as the database stores it. */
export interface TopicPolicy {
  readonly name: string;
  readonly transport: string;
  readonly address: string;
  readonly lanes: number;
  readonly timer: 'workflow' | 'lane';
  readonly exhausted: 'release-key' | 'block-key';
  readonly retryMs: readonly number[];
  readonly horizonMs: number;
  readonly visible: boolean;
  readonly confirm: ConfirmRules | null;
  readonly rate: RateRules | null;
  readonly payloadLimitBytes: number;
  readonly delayLimitMs: number;
}

/** Actor of the change that spreads the messages of a new topic, stored for one lane, over its lanes. */
export const announcer = 'announcement';

/**
 * Writes the policies and creates the lanes. The number of lanes and of partitions of a known topic stay as they are:
 * changing them moves keys, and is a separate operation.
 *
 * A topic that was unknown had one lane, and may already have messages, also in transactions that are open now. With several
 * lanes it therefore begins with a change of lanes, which must be completed before the topic is delivered.
 */
export async function upsertTopics(sql: Sql, policies: readonly TopicPolicy[]): Promise<void> {
  await sql.query(
    `with policy as (
       select * from jsonb_to_recordset($1::jsonb) as p(name text, transport text, address text, lanes integer, timer text,
         exhausted text, "retryMs" bigint[], "horizonMs" float8, visible boolean, confirm jsonb, rate jsonb, "payloadLimitBytes" integer, "delayLimitMs" float8)
     ), stored as (
       insert into outbox.topic as t (name, transport, address, lanes, timer, exhausted, retry_ms, horizon, visible,
         payload_limit_bytes, delay_limit, confirm_group, confirm_max_sends, receipt_timeout_ms, rate_messages,
         rate_per_ms, rate_of)
       select name, transport, address, lanes, timer, exhausted, "retryMs", "horizonMs" * interval '1 ms', visible,
         "payloadLimitBytes", "delayLimitMs" * interval '1 ms', confirm ->> 'group', (confirm ->> 'maxSends')::integer,
         (select array_agg(x::bigint order by n) from jsonb_array_elements_text(confirm -> 'receiptTimeoutMs') with ordinality w(x, n)),
         (rate ->> 'messages')::integer, (rate ->> 'perMs')::bigint, rate ->> 'of'
       from policy order by name
       on conflict (name) do update set transport = excluded.transport, address = excluded.address, timer = excluded.timer,
         exhausted = excluded.exhausted, retry_ms = excluded.retry_ms, horizon = excluded.horizon, visible = excluded.visible,
         payload_limit_bytes = excluded.payload_limit_bytes, delay_limit = excluded.delay_limit,
         confirm_group = excluded.confirm_group, confirm_max_sends = excluded.confirm_max_sends,
         receipt_timeout_ms = excluded.receipt_timeout_ms, rate_messages = excluded.rate_messages,
         rate_per_ms = excluded.rate_per_ms, rate_of = excluded.rate_of, updated_at = now()
       where (t.transport, t.address, t.timer, t.exhausted, t.retry_ms, t.horizon, t.visible, t.payload_limit_bytes, t.delay_limit,
           t.confirm_group, t.confirm_max_sends, t.receipt_timeout_ms, t.rate_messages, t.rate_per_ms, t.rate_of)
         is distinct from (excluded.transport, excluded.address, excluded.timer, excluded.exhausted, excluded.retry_ms,
           excluded.horizon, excluded.visible, excluded.payload_limit_bytes, excluded.delay_limit,
           excluded.confirm_group, excluded.confirm_max_sends, excluded.receipt_timeout_ms,
           excluded.rate_messages, excluded.rate_per_ms, excluded.rate_of)
       returning t.name, t.lanes, t.xmax = 0 as fresh
     ), changed as (
       insert into outbox.topic_change (topic, kind, wanted, step, actor)
       select name, 'lanes', lanes, 'switched', $2 from stored where fresh and lanes > 1
     )
     insert into outbox.lane (topic, n)
     select p.name, lane from policy p
       left join stored s on s.name = p.name left join outbox.topic known on known.name = p.name,
       generate_series(0, coalesce(s.lanes, known.lanes, p.lanes) - 1) lane
     on conflict do nothing`,
    [JSON.stringify(policies), announcer],
  );
}

/** The pinned number of partitions of a topic's address, `null` before the broker was first reached. */
export async function readPartitions(sql: Sql, topic: string): Promise<number | null> {
  const [row] = await sql.query<{ partitions: number | null }>(
    `select partitions from outbox.topic where name = $1`,
    [topic],
  );
  return row?.partitions ?? null;
}

/** Pins the number of partitions, unless it is pinned. @returns the pinned number: the first relay decides */
export async function pinPartitions(sql: Sql, topic: string, partitions: number): Promise<number> {
  await sql.query(`update outbox.topic set partitions = $2 where name = $1 and partitions is null`, [
    topic,
    partitions,
  ]);
  return (await readPartitions(sql, topic)) ?? partitions;
}

/** True if an operator has paused the topic or its transport. */
export async function isPaused(sql: Sql, topic: string): Promise<boolean> {
  const [row] = await sql.query<{ paused: boolean }>('select outbox.is_paused($1) as paused', [topic]);
  return row?.paused ?? false;
}

/** All lanes of the named topics. */
export async function readLanes(sql: Sql, topics: readonly string[]): Promise<readonly Lane[]> {
  return sql.query<Lane>(`select topic, n as lane from outbox.lane where topic = any($1) order by topic, n`, [
    [...topics],
  ]);
}

/** A change that whoever began it does not complete, or not alone. */
export interface OpenChange extends TopicChange {
  /** Who began it: {@link announcer}, or an operator. */
  readonly actor: string;
}

/** By then the call of an operator has ended: lanes wait for nothing at first, partitions for consumers, for a minute by default. */
const operatorMs = { lanes: 5_000, partitions: 90_000 };

/**
 * Changes of these topics that are not complete: those that began with the announcement of a topic, and those that an
 * operator began more than five seconds ago, or a minute and a half for partitions, whose call may have been killed, or be waiting
 * still.
 */
export async function readOpenChanges(sql: Sql, topics: readonly string[]): Promise<readonly OpenChange[]> {
  return sql.query<OpenChange>(
    `select id, topic, kind, wanted, step, actor from outbox.topic_change
     where topic = any($1)
       and (actor = $2 or not outbox.lately(begun_at, case kind when 'lanes' then $3::integer else $4::integer end))
     order by topic`,
    [[...topics], announcer, operatorMs.lanes, operatorMs.partitions],
  );
}
