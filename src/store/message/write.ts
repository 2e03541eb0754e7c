import type { State } from '../../core/transitions.ts';
import { choiceCell, jsonCell, numberCell, readRow } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';
import type { NewMessage, StoreAnswer, StoreRefusal } from './new-message.ts';
import { storePlain } from './store-plain.ts';

/** As `outbox.store_as_json` writes it; the due time in milliseconds. */
type StoreRow = readonly [
  n: number,
  id: string,
  workflowId: string,
  state: State,
  dueAtMs: number | null,
  duplicate: boolean,
  refusal: StoreRefusal | null,
  unannounced: boolean,
];

/** Stores messages of one topic, all or none; when one is refused, only refusals come back. */
export async function storeMessages(
  sql: Sql,
  topic: string,
  messages: readonly NewMessage[],
): Promise<readonly StoreAnswer[]> {
  const stored = await storePlain(sql, topic, messages);
  if (stored !== undefined) return stored;
  const rows = await sql.query<object>('select outbox.store_as_json($1::text, $2::text::jsonb) as answers', [
    topic,
    JSON.stringify(messages),
  ]);
  const { answers } = readRow(rows, { answers: jsonCell });
  return (answers as readonly StoreRow[]).map(
    ([n, id, workflowId, state, dueAtMs, duplicate, refusal, unannounced]) => ({
      n,
      id,
      workflowId,
      state,
      dueAt: dueAtMs === null ? null : new Date(dueAtMs),
      duplicate,
      unannounced,
      refusal,
    }),
  );
}

/** A message by its id, or by its ref within the topic. */
export type MessageHandle = { readonly id: string } | { readonly ref: string };

const cancelRow = { answer: choiceCell('canceled', 'too-late', 'unknown') };

/** Cancels a message. Provisional until the transaction commits. */
export async function cancelMessage(
  sql: Sql,
  topic: string,
  handle: MessageHandle,
): Promise<'canceled' | 'too-late' | 'unknown'> {
  const rows = await sql.query<object>(`select outbox.cancel($1::text, $2::text, $3::text::uuid) as answer`, [
    topic,
    'ref' in handle ? handle.ref : null,
    'id' in handle ? handle.id : null,
  ]);
  return readRow(rows, cancelRow).answer;
}

/** Cancels the messages of a key that are not sent, and certainly not published. Provisional until the transaction commits. @returns how many */
export async function cancelKey(sql: Sql, topic: string, key: string): Promise<number> {
  const rows = await sql.query<object>(`select outbox.cancel_key($1::text, $2::text) as count`, [topic, key]);
  return readRow(rows, { count: numberCell }).count;
}

/** What the database says of a new due time. `past-expiry`: the message will have expired by then. */
export type MoveAnswer = 'rescheduled' | 'too-late' | 'unknown' | 'out-of-range' | 'past-expiry';

const moveRow = {
  answer: choiceCell<MoveAnswer>('rescheduled', 'too-late', 'unknown', 'out-of-range', 'past-expiry'),
};

/** Moves the due time of a waiting message. Provisional until the transaction commits. */
export async function rescheduleMessage(
  sql: Sql,
  topic: string,
  handle: MessageHandle,
  due: { readonly afterMs?: number; readonly at?: string },
): Promise<MoveAnswer> {
  const rows = await sql.query<object>(
    `select outbox.move_due($1::text, $2::text, $3::text::uuid, $4::float8 * interval '1 ms', $5::text::timestamptz) as answer`,
    [
      topic,
      'ref' in handle ? handle.ref : null,
      'id' in handle ? handle.id : null,
      due.afterMs ?? null,
      due.at ?? null,
    ],
  );
  return readRow(rows, moveRow).answer;
}

/** The topic of a message, live or archived, for callers that know only its id. */
export async function topicOf(sql: Sql, id: string): Promise<string | undefined> {
  const [row] = await sql.query<{ topic: string }>(
    `select topic from outbox.message_all where id = $1::text::uuid`,
    [id],
  );
  return row?.topic;
}
