import { OutboxError } from '../../core/errors.ts';
import { type Author, writeAudit } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';
import { nudgeChannel } from './nudge.ts';

/** What of a topic is being changed. */
export type ChangeKind = 'lanes' | 'partitions';

/** A change that is in progress; while its row exists, the topic is paused. */
export interface TopicChange {
  /** UUID; a change to another number has another one. */
  readonly id: string;
  readonly topic: string;
  readonly kind: ChangeKind;
  readonly wanted: number;
  /** `begun`: deliveries are being stopped. `switched`: the new number of lanes holds, rows may lie in old ones. */
  readonly step: 'begun' | 'switched';
}

/** A topic before a change. */
export interface TopicCounts {
  readonly address: string;
  readonly transport: string;
  readonly lanes: number;
  /** `null` before the broker was first reached. */
  readonly partitions: number | null;
  readonly change: TopicChange | null;
}

/** How many lanes and partitions a topic has, and what is being changed; `undefined`: no relay has announced it. */
export async function readTopicCounts(sql: Sql, topic: string): Promise<TopicCounts | undefined> {
  const [row] = await sql.query<TopicCounts>(
    `select t.address, t.transport, t.lanes, t.partitions,
       case when c.topic is null then null
         else jsonb_build_object('id', c.id, 'topic', c.topic, 'kind', c.kind, 'wanted', c.wanted, 'step', c.step) end as change
     from outbox.topic t left join outbox.topic_change c on c.topic = t.name where t.name = $1`,
    [topic],
  );
  return row;
}

/**
 * Begins a change, or continues one that was interrupted; after its commit no claim of the topic returns a message. With
 * another number than before it starts over.
 *
 * @throws OutboxError `OUTBOX_CHANGE_UNDER_WAY` while the other kind of change of the topic is not complete
 */
export async function beginChange(
  database: Database,
  { topic, kind, wanted }: Omit<TopicChange, 'id' | 'step'>,
  by: Author,
): Promise<TopicChange> {
  return database.transaction(async (sql) => {
    const [row] = await sql.query<TopicChange & { readonly fresh: boolean }>(
      `insert into outbox.topic_change as c (topic, kind, wanted, actor) values ($1, $2, $3, $4)
       on conflict (topic) do update set wanted = excluded.wanted, actor = excluded.actor,
         step = case when c.wanted = excluded.wanted then c.step else 'begun' end,
         id = case when c.wanted = excluded.wanted then c.id else excluded.id end,
         running = case when c.wanted = excluded.wanted then c.running end,
         prepared = case when c.wanted = excluded.wanted then c.prepared end,
         walks = case when c.wanted = excluded.wanted then c.walks else 0 end,
         cursor = case when c.wanted = excluded.wanted then c.cursor end,
         skipped = case when c.wanted = excluded.wanted then c.skipped else '{}' end,
         begun_at = case when c.wanted = excluded.wanted then c.begun_at else excluded.begun_at end
       where c.kind = excluded.kind
       returning c.id, c.topic, c.kind, c.wanted, c.step, xmax = 0 as fresh`,
      [topic, kind, wanted, by.actor],
    );
    if (row === undefined) {
      throw new OutboxError(
        'OUTBOX_CHANGE_UNDER_WAY',
        `Another change of the topic "${topic}" has begun and is not complete.`,
        { details: { topic } },
      );
    }
    await auditChange(sql, row, row.fresh ? 'begun' : 'continued', by);
    return row;
  });
}

/** The change was completed or replaced by another call. */
export class ChangeGone extends Error {
  constructor(topic: string) {
    super(`Another call has completed or replaced the change of "${topic}".`);
  }
}

/**
 * Locks a change until the transaction ends: no other call can complete or replace it. And the transaction reads tables by
 * their indexes: a new topic is unknown to the planner, which would read all messages of the others.
 *
 * @throws ChangeGone
 */
export async function holdChange(sql: Sql, { topic, id }: TopicChange): Promise<void> {
  const rows = await sql.query(
    `with planned as materialized (select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_sort', 'off', true), set_config('jit', 'off', true))
     select from outbox.topic_change c, planned where c.topic = $1 and c.id = $2 for update of c`,
    [topic, id],
  );
  if (rows.length === 0) throw new ChangeGone(topic);
}

/** Ends a change in the transaction of its last step: the topic is delivered again. */
export async function endChange(sql: Sql, change: TopicChange, by: Author): Promise<void> {
  await sql.query('delete from outbox.topic_change where topic = $1', [change.topic]);
  await auditChange(sql, change, 'done', by);
  // Sent at the commit; nothing but speed depends on it.
  await sql.query(`select pg_notify('${nudgeChannel}', '')`);
}

/** One audit entry per step, in its transaction. */
export async function auditChange(
  sql: Sql,
  { topic, kind, wanted }: TopicChange,
  result: string,
  { actor, reason }: Author,
): Promise<void> {
  await writeAudit(sql, [
    { actor, action: kind, messageId: null, topic, result, reason, details: { wanted } },
  ]);
}
