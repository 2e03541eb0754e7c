import type { Sql } from '../database/database.ts';

/** What a message is to its group when it arrives. */
export type Arrival =
  /** It was never seen, and its id is noted now. */
  | 'new'
  /** As new, but its key is parked: it belongs behind the others of its key. */
  | 'behind'
  /** Its effects were committed before. */
  | 'processed'
  /** It is kept already, parked or failed. */
  | 'kept';

/** What the server ends of a transaction by itself, in milliseconds. */
export interface TransactionLimits {
  /**
   * The transaction, when it asks nothing of the database for so long: a process that is frozen would hold up whoever takes
   * over its messages.
   */
  readonly idleMs: number;
  /**
   * A wait for a lock, and a statement. A client that gives up a transaction queues its ROLLBACK behind the statement that
   * runs, so this is how long it goes without the connection.
   */
  readonly statementMs: number;
}

/** Longer than a handler should be busy elsewhere in its transaction. */
export const shortestIdleMs = 30_000;
export const defaultLimits: TransactionLimits = { idleMs: shortestIdleMs, statementMs: shortestIdleMs };

/** Has the server end this transaction by itself as one of the inbox, and its waits for locks after 5 s. */
export async function limitIdle(sql: Sql): Promise<void> {
  await sql.query('select outbox.limit_idle()');
}

export interface NewArrival {
  readonly id: string;
  readonly topic: string;
  /** As {@link queueKey} makes it. */
  readonly key: string | null;
}

/**
 * Notes messages in the transaction of their effects, and says what each of them is. A concurrent transaction with one
 * of them waits here until this one ends.
 *
 * @param limits what the server ends of this transaction, from here on
 * @returns one answer per message, in their order
 */
export async function noteArrivals(
  sql: Sql,
  group: string,
  messages: readonly NewArrival[],
  limits: TransactionLimits = defaultLimits,
): Promise<readonly Arrival[]> {
  const [only, ...others] = messages;
  if (only !== undefined && others.length === 0 && (await receiveOne(sql, group, only, limits)))
    return ['new'];
  const { idleMs, statementMs } = limits;
  // One text costs clients less than an array of many.
  const ids = JSON.stringify(messages.map(({ id }) => id));
  const topics = alike(messages.map(({ topic }) => topic));
  const keys = (): readonly (string | null)[] => messages.map(({ key }) => key);
  const arrivals =
    (await ask(sql, [
      group,
      ids,
      topics,
      messages.length > fewMessages ? null : keys(),
      idleMs,
      statementMs,
    ])) ??
    (await ask(sql, [group, ids, topics, keys(), idleMs, statementMs])) ??
    [];
  return arrivals.length > 0 ? arrivals : messages.map(() => 'new');
}

/** @returns true when it is new, and noted; false: nothing is known, and nothing was noted */
async function receiveOne(
  sql: Sql,
  group: string,
  { id, topic }: NewArrival,
  { idleMs, statementMs }: TransactionLimits,
): Promise<boolean> {
  // A row without columns is an answer that no client has to convert.
  const rows = await sql.query('select where outbox.receive_one($1, $2, $3, $4, $5)', [
    group,
    id,
    topic,
    idleMs,
    statementMs,
  ]);
  return rows.length > 0;
}

/** Their keys cost less than a second question. */
const fewMessages = 20;

/** @returns `null` when the keys are needed, because the group has parked ones */
async function ask(sql: Sql, values: readonly unknown[]): Promise<readonly Arrival[] | null> {
  const [row] = await sql.query<{ arrivals: readonly Arrival[] | null }>(
    `select outbox.receive($1, array(select json_array_elements_text($2::json)), $3::text[], $4::text[], $5::integer, $6::integer) as arrivals`,
    values,
  );
  return row?.arrivals ?? null;
}

/** Fails in a transaction in which another statement has failed, and does nothing else. */
export async function touchTransaction(sql: Sql): Promise<void> {
  await sql.query('select');
}

/** One text that stands for all, where they are the same. */
function alike(texts: readonly string[]): readonly string[] {
  return texts.every((text) => text === texts[0]) ? texts.slice(0, 1) : texts;
}

/** Whether the group keeps, or has kept, any message: nearly never, which saves asking which. */
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
