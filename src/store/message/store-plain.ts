import { randomUUID } from 'node:crypto';
import type { State } from '../../core/transitions.ts';
import { orNull, readRow, textCell } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';
import type { NewMessage, StoreAnswer } from './new-message.ts';

/** Between the elements of a list. JSON texts contain no control characters. */
const separator = '\u001e';

/** As `outbox.store_one` writes it for a message that is not in the log; the due time in milliseconds. */
type StoredOne = readonly [
  id: string,
  workflowId: string,
  state: State,
  dueAtMs: number | null,
  unannounced?: true,
];

/** As `outbox.store_many` writes it; the due times in milliseconds. */
type StoredMany = readonly [
  laneWorkflows: string,
  lanes: string,
  timed: readonly (readonly [state: State, ownWorkflowId: string | null, dueAtMs: number | null])[] | null,
  unannounced: boolean,
];

const storedRow = { stored: orNull(textCell) };

/**
 * Stores messages that cannot be repeats, because they have no ids and refs, and do not expire, by the shortest way, which costs the server half.
 *
 * @returns `undefined`: nothing is stored, because a message may be a repeat, or is refused
 */
export async function storePlain(
  sql: Sql,
  topic: string,
  messages: readonly NewMessage[],
): Promise<readonly StoreAnswer[] | undefined> {
  if (!messages.every(isPlain)) return undefined;
  const [first] = messages;
  if (first === undefined || messages.length > 1) return storeMany(sql, topic, messages);
  const answer = await storeOne(sql, topic, first);
  return answer && [answer];
}

function isPlain({ id, ref, contentType, key, expiresAfterMs, expiresAt }: NewMessage): boolean {
  const special = id ?? ref ?? contentType ?? expiresAfterMs ?? expiresAt;
  return special === undefined && key !== '' && !key?.includes(separator);
}

async function storeOne(sql: Sql, topic: string, message: NewMessage): Promise<StoreAnswer | undefined> {
  const { payload, key, headers, afterMs, at } = message;
  const newId = uuidV7();
  const rows = await sql.query<object>(
    `select outbox.store_one($1::text, $2::text, $3::text, $4::text::jsonb, $5::float8, $6::text::timestamptz,
       $7::text::uuid) as stored`,
    [topic, payload, key ?? null, headersOf(headers) || null, afterMs ?? null, at ?? null, newId],
  );
  const { stored } = readRow(rows, storedRow);
  if (stored === null) return undefined;
  const [id, workflowId, state, dueAtMs, unannounced = false] = stored.startsWith('[')
    ? // oxlint-disable-next-line eslint/no-restricted-properties -- the database has written it
      (JSON.parse(stored) as StoredOne)
    : ([newId, stored, 'ready', null] as const);
  const dueAt = dateOf(dueAtMs);
  return { n: 1, id, workflowId, state, dueAt, duplicate: false, unannounced, refusal: null };
}

async function storeMany(
  sql: Sql,
  topic: string,
  messages: readonly NewMessage[],
): Promise<readonly StoreAnswer[] | undefined> {
  const ids = messages.map(uuidV7);
  const rows = await sql.query<object>(
    `select outbox.store_many($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text) as stored`,
    [
      topic,
      ids.join(','),
      messages.map(({ payload }) => payload).join(separator),
      listCell(messages, ({ key }) => key),
      listCell(messages, ({ headers }) => headersOf(headers)),
      listCell(messages, ({ afterMs }) => afterMs?.toString()),
      listCell(messages, ({ at }) => at),
    ],
  );
  const { stored } = readRow(rows, storedRow);
  if (stored === null) return undefined;
  // oxlint-disable-next-line eslint/no-restricted-properties -- the database has written it
  const [laneWorkflows, lanes, timed, unannounced] = JSON.parse(stored) as StoredMany;
  const laneOf = lanes.split(',');
  return ids.map((id, index) => {
    const [state, ownWorkflowId, dueAtMs] = timed?.[index] ?? (['ready', null, null] as const);
    return {
      n: index + 1,
      id,
      workflowId: ownWorkflowId ?? `${laneWorkflows}${laneOf[index] ?? ''}`,
      state,
      dueAt: dateOf(dueAtMs),
      duplicate: false,
      unannounced,
      refusal: null,
    };
  });
}

/** `null` if no message has a value. */
function listCell(
  messages: readonly NewMessage[],
  valueOf: (message: NewMessage) => string | undefined,
): string | null {
  const values = messages.map((message) => valueOf(message) ?? '');
  return values.some((value) => value !== '') ? values.join(separator) : null;
}

function headersOf(headers: NewMessage['headers']): string {
  return headers === undefined ? '' : JSON.stringify(headers);
}

function dateOf(atMs: number | null): Date | null {
  return atMs === null ? null : new Date(atMs);
}

/** UUID version 7, like the database function `outbox.uuid_v7`: 48 bits of milliseconds, then random bits. */
function uuidV7(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
