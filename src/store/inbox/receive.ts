import type { Sql } from '../database.ts';

/** What a message is to its group when it arrives. */
export type Arrival =
  /** It was never seen, and its id is noted now. */
  | 'new'
  /** As new, but its key is parked: it belongs behind the queue of its key. */
  | 'queued'
  /** Its effects were committed before. */
  | 'processed'
  /** It is kept already, parked or failed. */
  | 'parked';

export interface ReceivedMessage {
  readonly id: string;
  readonly topic: string;
  /** As {@link queueKey} makes it. */
  readonly key: string | null;
}

/**
 * Notes messages in the transaction of their effects, and says what each of them is. A concurrent transaction with one
 * of them waits here until this one ends.
 *
 * @param idleMs for how long this transaction may ask nothing of the database before that ends it: a process that is
 * frozen would hold up whoever takes over its messages
 * @returns one answer per message, in their order
 */
export async function receive(
  sql: Sql,
  group: string,
  messages: readonly ReceivedMessage[],
  idleMs: number = shortestIdleMs,
): Promise<readonly Arrival[]> {
  const [only, ...others] = messages;
  if (only !== undefined && others.length === 0 && (await receiveOne(sql, group, only, idleMs)))
    return ['new'];
  // One text costs clients less than an array of many.
  const ids = JSON.stringify(messages.map(({ id }) => id));
  const topics = alike(messages.map(({ topic }) => topic));
  const keys = (): readonly (string | null)[] => messages.map(({ key }) => key);
  const arrivals =
    (await ask(sql, [group, ids, topics, messages.length > fewMessages ? null : keys(), idleMs])) ??
    (await ask(sql, [group, ids, topics, keys(), idleMs])) ??
    [];
  return arrivals.length > 0 ? arrivals : messages.map(() => 'new');
}

/** @returns true when it is new, and noted; false: nothing is known, and nothing was noted */
async function receiveOne(
  sql: Sql,
  group: string,
  { id, topic }: ReceivedMessage,
  idleMs: number,
): Promise<boolean> {
  // A row without columns is an answer that no client has to convert.
  const rows = await sql.query('select where outbox.receive_one($1, $2, $3, $4)', [group, id, topic, idleMs]);
  return rows.length > 0;
}

/** Longer than a handler should be busy elsewhere in its transaction. */
export const shortestIdleMs = 30_000;
/** Their keys cost less than a second question. */
const fewMessages = 20;

/** @returns `null` when the keys are needed, because the group has parked ones */
async function ask(sql: Sql, values: readonly unknown[]): Promise<readonly Arrival[] | null> {
  const [row] = await sql.query<{ arrivals: readonly Arrival[] | null }>(
    `select outbox.receive($1, array(select json_array_elements_text($2::json)), $3::text[], $4::text[], $5::integer) as arrivals`,
    values,
  );
  return row?.arrivals ?? null;
}

/** One text that stands for all, where they are the same. */
function alike(texts: readonly string[]): readonly string[] {
  return texts.every((text) => text === texts[0]) ? texts.slice(0, 1) : texts;
}

/** Whether the group keeps, or has kept, any message: nearly never, and then nobody need ask which. */
export async function keepsAny(sql: Sql, group: string): Promise<boolean> {
  const rows = await sql.query('select 1 from outbox.parked where consumer_group = $1 limit 1', [group]);
  return rows.length > 0;
}

/** Which of these messages are kept, parked or failed. */
export async function readKept(
  sql: Sql,
  group: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql.query<{ id: string }>(
    `select message_id as id from outbox.parked
     where consumer_group = $1 and message_id = any($2::text[]) and state::text in ('parked', 'failed')`,
    [group, ids],
  );
  return new Set(rows.map(({ id }) => id));
}
