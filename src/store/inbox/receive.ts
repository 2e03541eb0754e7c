import {
  choiceCell,
  clientUnfit,
  flagCell,
  listCell,
  orNull,
  readRow,
  readRows,
  textCell,
} from '../database/answers.ts';
import type { Sql } from '../database/database.ts';

/** What a message is to its group when it arrives. */
export type Arrival =
  /** It was never seen, and its id is stored now. */
  | 'new'
  /** As `new`, but its key is parked: it must queue behind the others of its key. */
  | 'behind'
  /** Its effects are already committed. */
  | 'processed'
  /** It is already kept, parked or failed. */
  | 'kept';

/** Limits after which the server ends parts of a transaction by itself, in milliseconds. */
export interface TransactionLimits {
  /**
   * Idle time in the transaction: a frozen process must not block the consumer that takes over its messages.
   */
  readonly idleMs: number;
  /**
   * Time of a statement, including its wait for locks. A client that gives up a transaction queues its ROLLBACK behind the
   * running statement, so this is how long it must do without the connection.
   */
  readonly statementMs: number;
}

/** Longer than a handler should do other work within its transaction. */
export const shortestIdleMs = 30_000;
export const defaultLimits: TransactionLimits = { idleMs: shortestIdleMs, statementMs: shortestIdleMs };

/** Sets the idle limit of the inbox for this transaction, and a lock timeout of 5 s. */
export async function limitIdle(sql: Sql): Promise<void> {
  await sql.query('select outbox.limit_idle()');
}

export interface NewArrival {
  readonly id: string;
  readonly topic: string;
  /** The result of {@link queueKey}. */
  readonly key: string | null;
}

/**
 * Stores the ids of messages in the transaction of their effects, and classifies each of them. A concurrent transaction with
 * one of them waits here until this one ends.
 *
 * @param limits limits of this transaction from here on
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
    ])) ?? (await ask(sql, [group, ids, topics, keys(), idleMs, statementMs]));
  if (arrivals?.length === 0) return messages.map(() => 'new');
  if (arrivals?.length !== messages.length) throw clientUnfit('returned another number of arrivals');
  return arrivals;
}

/** @returns true if it is new, and stored; false: undecided, and nothing was stored */
async function receiveOne(
  sql: Sql,
  group: string,
  { id, key, topic }: NewArrival,
  { idleMs, statementMs }: TransactionLimits,
): Promise<boolean> {
  const rows = await sql.query<object>('select outbox.receive_one($1, $2, $3, $4, $5, $6)::text as stored', [
    group,
    id,
    topic,
    idleMs,
    statementMs,
    key,
  ]);
  return readRow(rows, storedRow).stored === true;
}

/** For this many messages, sending their keys costs less than a second query. */
const fewMessages = 20;

const storedRow = { stored: orNull(flagCell) };
const arrivalsRow = {
  arrivals: orNull(listCell(choiceCell<Arrival>('new', 'behind', 'processed', 'kept'))),
};

/** @returns `null` if the keys are needed, because the group has parked ones; an empty list if all are new */
async function ask(sql: Sql, values: readonly unknown[]): Promise<readonly Arrival[] | null> {
  const rows = await sql.query<object>(
    `select array_to_json(outbox.receive($1, array(select json_array_elements_text($2::json)), $3::text[], $4::text[], $5::integer, $6::integer))::text as arrivals`,
    values,
  );
  return readRow(rows, arrivalsRow).arrivals;
}

/** Fails if another statement of the transaction has failed; does nothing else. */
export async function touchTransaction(sql: Sql): Promise<void> {
  await sql.query('select');
}

/** A single text if all are the same. */
function alike(texts: readonly string[]): readonly string[] {
  return texts.every((text) => text === texts[0]) ? texts.slice(0, 1) : texts;
}

/** Whether the group has any row of a kept message: usually not, which saves the query for which. */
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
  const rows = await sql.query<object>(
    `select message_id as id from outbox.parked
     where consumer_group = $1 and message_id = any($2::text[]) and state::text in ('parked', 'failed')`,
    [group, ids],
  );
  return new Set(readRows(rows, { id: textCell }).map(({ id }) => id));
}
