import type { OutboxErrorCode } from '../../core/errors.ts';
import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';

/** A message on its way into the table. */
export interface NewMessage {
  readonly payload: string;
  readonly key?: string;
  readonly ref?: string;
  readonly id?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly afterMs?: number;
  /** ISO time. */
  readonly at?: string;
}

/** The database's answer about one message: stored, or refused. */
export interface StoreAnswer {
  /** 1 for the first message of the call. */
  readonly n: number;
  readonly id: string;
  readonly workflowId: string;
  readonly state: State;
  readonly dueAt: Date | null;
  readonly duplicate: boolean;
  readonly refusal: ChangeRefusal | null;
}

/** Why a message was not stored. */
interface ChangeRefusal {
  readonly code: OutboxErrorCode;
  readonly message: string;
  readonly details?: Record<string, unknown>;
}

interface StoreRow extends Omit<StoreAnswer, 'dueAt' | 'refusal'> {
  readonly dueAtMs: number | null;
  readonly refusal: string | null;
}

/** Stores messages of one topic, all or none; when one is refused, only refusals come back. */
export async function storeMessages(
  sql: Sql,
  topic: string,
  messages: readonly NewMessage[],
): Promise<readonly StoreAnswer[]> {
  // Clients differ in how they parse timestamps and jsonb; all return numbers and strings alike.
  const rows = await sql.query<StoreRow>(
    `select n::integer as n, id::text as id, workflow_id as "workflowId", state::text as state,
       floor(extract(epoch from due_at) * 1000)::float8 as "dueAtMs", duplicate, refusal::text as refusal
     from outbox.store($1::text, $2::text::jsonb) order by n`,
    [topic, JSON.stringify(messages)],
  );
  return rows.map(({ dueAtMs, refusal, ...row }) => ({
    ...row,
    dueAt: dueAtMs === null ? null : new Date(dueAtMs),
    refusal: refusal === null ? null : (JSON.parse(refusal) as ChangeRefusal),
  }));
}

/** A message by its id, or by its ref within the topic. */
export type MessageHandle = { readonly id: string } | { readonly ref: string };

/** Cancels a message. Provisional until the transaction commits. */
export async function cancelMessage(
  sql: Sql,
  topic: string,
  handle: MessageHandle,
): Promise<'canceled' | 'too-late' | 'unknown'> {
  const [row] = await sql.query<{ answer: 'canceled' | 'too-late' | 'unknown' }>(
    `select outbox.cancel($1::text, $2::text, $3::text::uuid) as answer`,
    [topic, 'ref' in handle ? handle.ref : null, 'id' in handle ? handle.id : null],
  );
  return row?.answer ?? 'unknown';
}

/** Moves the due time of a waiting message. Provisional until the transaction commits. */
export async function rescheduleMessage(
  sql: Sql,
  topic: string,
  handle: MessageHandle,
  due: { readonly afterMs?: number; readonly at?: string },
): Promise<'rescheduled' | 'too-late' | 'unknown' | 'out-of-range'> {
  const [row] = await sql.query<{ answer: 'rescheduled' | 'too-late' | 'unknown' | 'out-of-range' }>(
    `select outbox.move_due($1::text, $2::text, $3::text::uuid, $4::float8 * interval '1 ms', $5::text::timestamptz) as answer`,
    [
      topic,
      'ref' in handle ? handle.ref : null,
      'id' in handle ? handle.id : null,
      due.afterMs ?? null,
      due.at ?? null,
    ],
  );
  return row?.answer ?? 'unknown';
}

/** The topic of a message, live or archived, for callers that know only its id. */
export async function topicOf(sql: Sql, id: string): Promise<string | undefined> {
  const [row] = await sql.query<{ topic: string }>(
    `select topic from outbox.message_all where id = $1::text::uuid`,
    [id],
  );
  return row?.topic;
}
