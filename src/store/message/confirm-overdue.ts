import type { Sql } from '../database/database.ts';
import type { DueEdge } from '../lane/due-edge.ts';

// `position > 0` is true for every row; it selects the index with this predicate.

/** A published message whose receipt is overdue. */
export interface OverdueMessage {
  readonly id: string;
  /** Partition of its latest copy; `null` if the broker did not return it. */
  readonly partition: number | null;
  readonly offset: string | null;
  /** How often a broker has acknowledged it. */
  readonly sends: number;
  /** Whether that was noted before the time that was asked about. */
  readonly before: boolean;
}

/** A topic with overdue messages. */
export interface OverdueTopic {
  readonly topic: string;
  /** Whether the place of its longest overdue message is unknown: its broker does not return it. */
  readonly unplaced: boolean;
  /** ISO time since when its longest overdue message is. */
  readonly since: string;
}

/**
 * Which of the named topics have overdue messages. Each is walked from where no earlier one is left, because an old snapshot keeps those
 * that were confirmed. A settle may commit a moment after the time that it sets.
 */
export async function overdueTopics(
  sql: Sql,
  edges: ReadonlyMap<string, DueEdge>,
): Promise<readonly OverdueTopic[]> {
  const startedAt = performance.now();
  const from = [...edges.values()].map((edge) => edge.from(startedAt));
  const rows = await sql.query<OverdueTopic & { readonly since: string | null; readonly next: string }>(
    `select t.topic, m.unplaced, m.confirm_by::text as since, least(m.confirm_by, outbox.clock() - interval '1 second')::text as next
     from unnest($1::text[], $2::timestamptz[]) t(topic, begins) left join lateral (
       select m.confirm_by, m.partition is null or m."offset" is null as unplaced from only outbox.message m
       where m.topic = t.topic and m.state = 'published' and m.confirm_by is not null and m.position > 0
         and m.confirm_by >= coalesce(t.begins, '-infinity') and m.confirm_by <= outbox.clock()
       order by m.confirm_by limit 1) m on true`,
    [[...edges.keys()], from],
  );
  const endedAt = performance.now();
  const begun = new Map([...edges.keys()].map((topic, index) => [topic, from[index] ?? null]));
  for (const { topic, next } of rows)
    edges.get(topic)?.walked(begun.get(topic) ?? null, next, startedAt, endedAt);
  return rows.flatMap(({ topic, unplaced, since }) => (since === null ? [] : [{ topic, unplaced, since }]));
}

/** A time before which the broker has shown, in its ends, every message that is noted as published by then. */
export async function shownBefore(sql: Sql): Promise<string> {
  // A broker may show a message in its ends a moment after it has acknowledged it.
  const [row] = await sql.query<{ time: string }>(`select (outbox.clock() - interval '1 s')::text as time`);
  if (row === undefined) throw new Error('A clock without a time.');
  return row.time;
}

/**
 * Locks overdue messages of a topic for the rest of the transaction, the longest overdue first. Rows that another relay or a
 * receipt has locked are skipped.
 *
 * @param since as in {@link OverdueTopic}: none is overdue for longer
 * @param before for {@link OverdueMessage.before}; `undefined`: no message counts as earlier
 */
export async function lockOverdue(
  sql: Sql,
  { topic, since }: Pick<OverdueTopic, 'topic' | 'since'>,
  before: string | undefined,
  limit: number,
): Promise<readonly OverdueMessage[]> {
  return sql.query<OverdueMessage>(
    `select id, partition, "offset", sends, coalesce(published_at <= $3::timestamptz, false) as before from only outbox.message
     where topic = $1 and state = 'published' and confirm_by is not null and position > 0
       and confirm_by >= $4::timestamptz and confirm_by <= outbox.clock()
     order by confirm_by, position limit $2 for update skip locked`,
    [topic, limit, before ?? null, since],
  );
}

/**
 * Hands locked messages to their lane again. They keep their positions, so that messages of one key go in order, and get a
 * new xid, so that the next claim finds them below its cursor. They can no longer be canceled.
 *
 * A message stays as it is while an earlier one of its key, which also was sent earlier, still waits for its receipt and is
 * not in `ids` or `givenUp`: sent alone, it would overtake the next copy of that one. It becomes overdue together with it.
 *
 * @param givenUp messages of the same transaction that are not sent again, so that no other one has to wait for them
 * @returns how many are sent again
 */
export async function resend(sql: Sql, ids: readonly string[], givenUp: readonly string[]): Promise<number> {
  const [row] = await sql.query<{ count: number }>(
    `with due as materialized (
       select m.id, earlier.confirm_by from only outbox.message m left join lateral (
         select s.confirm_by from only outbox.message s
         where s.topic = m.topic and s.key = m.key and s.position < m.position
           and s.state = 'published' and s.confirm_by is not null
           and (s.partition = m.partition and s."offset" < m."offset" or m.partition is null and s.published_at <= m.published_at)
           and s.id <> all($1::uuid[]) and s.id <> all($2::uuid[])
         order by s.position limit 1) earlier on true
       where m.id = any($1::uuid[])
     ), resent as (
       update only outbox.message m set state = 'ready', xid = pg_current_xact_id(), maybe_published = true, confirm_by = null,
         updated_at = outbox.clock()
       from due d where m.id = d.id and d.confirm_by is null
       returning 1
     ), delayed as (
       update only outbox.message m set confirm_by = greatest(m.confirm_by, d.confirm_by), updated_at = outbox.clock()
       from due d where m.id = d.id and d.confirm_by is not null
     )
     select count(*)::integer as count from resent`,
    [[...ids], [...givenUp]],
  );
  return row?.count ?? 0;
}

/** Restarts the receipt timeout of locked messages. */
export async function postpone(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.query(
    `update only outbox.message m set updated_at = outbox.clock(),
       confirm_by = outbox.clock() + t.receipt_timeout_ms[least(greatest(m.sends, 1), cardinality(t.receipt_timeout_ms))] * interval '1 ms'
     from outbox.topic t where m.id = any($1::uuid[]) and t.name = m.topic`,
    [[...ids]],
  );
}

/** A message that failed because no receipt came. */
export interface Unconfirmed {
  readonly id: string;
  readonly key: string | null;
  readonly lane: number;
  readonly sends: number;
  readonly error: string;
}

/**
 * Locks the lanes of messages that the caller has locked, for {@link giveUp}: whatever makes a message fail names its transaction in the row
 * of its lane. What somebody else has locked is left to the next round: a settle that waits for a message has its lane locked.
 *
 * @param ids of messages of the topic
 * @returns those whose lanes are locked now
 */
export async function holdLanes(sql: Sql, topic: string, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(
    `with asked as materialized (
       select m.id, m.lane from only outbox.message m where m.id = any($2::uuid[])
     ), held as materialized (
       select l.n from outbox.lane l where l.topic = $1 and l.n = any(array(select a.lane from asked a)) order by l.n for update skip locked
     )
     select a.id from asked a where a.lane in (select h.n from held h)`,
    [topic, [...ids]],
  );
  return rows.map(({ id }) => id);
}

/**
 * Fails locked messages that have no receipt after all of their sends. A late receipt still confirms them.
 *
 * @param ids as answered by {@link holdLanes}
 */
export async function giveUp(
  sql: Sql,
  ids: readonly string[],
  group: string,
): Promise<readonly Unconfirmed[]> {
  return sql.query<Unconfirmed>(
    `with lanes as materialized (
       select m.topic, m.lane from only outbox.message m where m.id = any($1::uuid[]) group by m.topic, m.lane
     ), noted as (
       update outbox.lane l set failed_xid = pg_current_xact_id() from lanes where l.topic = lanes.topic and l.n = lanes.lane
     )
     update only outbox.message m set state = 'failed', maybe_published = true, confirm_by = null, updated_at = outbox.clock(),
       last_error = format('The group "%s" has passed this message without a receipt, %s times.', $2::text, m.sends)
     where m.id = any($1::uuid[])
     returning m.id, m.key, m.lane, m.sends, m.last_error as error`,
    [[...ids], group],
  );
}
