import type { Sql } from '../database/database.ts';
import { storableText } from './park.ts';
import { defaultLimits, type TransactionLimits } from './receive.ts';

/** How tries of a group follow each other. */
export interface TryRules {
  /** Delays before the second, third, … try; then a message is given up. */
  readonly retryMs: readonly number[];
  /** A message that was given up holds its key until a person decides. */
  readonly holdKey: boolean;
  /** With so many deaths of a process that had a message in hand alone, it is given up; 2 are the fewest. */
  readonly maxKills: number;
}

/** The delays of topics that have a handler in this process, for tries that begin before anybody has read a message. */
export interface TopicDelays {
  /** JSON: by the name of each topic its `retryMs`. */
  readonly byTopic: string;
  /**
   * When another process may try a message of any other topic, should this one die of it. Who has its handler knows how many
   * tries it has, so that none is given up here for want of them.
   */
  readonly elsewhereMs: number;
}

/** Who begins a try, and of how much. */
export interface TryHand {
  /** Name of an advisory lock, a 64-bit number: connections that begin and join tries hold it, as long as they are open. */
  readonly worker: string;
  /** Messages at most. */
  readonly most: number;
  /** No other suspect is in hand of this process. */
  readonly alone: boolean;
}

/** A message whose try was begun. Alone it counts from then on, together with others it does not. */
export interface BegunTry {
  readonly id: string;
  readonly topic: string;
  readonly address: string;
  readonly partition: number;
  readonly offset: string;
  readonly wire: string;
  readonly body: Uint8Array | null;
  readonly sentAt: Date;
  /** Tries with this one, the quick ones together being the first. */
  readonly attempts: number;
  /** Of the try, among all of its key; the same for messages that are tried together. */
  readonly number: number;
}

export type BeginAnswer =
  /** `others`: those behind it, which are tried in the same transaction. */
  | { readonly kind: 'try'; readonly message: BegunTry; readonly others: readonly BegunTry[] }
  /** Somebody else works on the key, or adds to it just now. */
  | { readonly kind: 'busy' }
  /** A process died with the first message in hand: it is tried alone, and this try was not. */
  | { readonly kind: 'suspect' }
  | { readonly kind: 'wait'; readonly inMs: number }
  /** A failed message holds the key. `gaveUp`: this one, because it ended whoever tried it. */
  | { readonly kind: 'held'; readonly gaveUp: string | null }
  /** The message was given up, because it ended whoever tried it; the key has more. */
  | { readonly kind: 'more'; readonly gaveUp: string | null }
  /** The key is free. */
  | { readonly kind: 'gone'; readonly gaveUp: string | null };

/** Rules allow 100 at most. */
const moreTriesThanAny = 200;

interface TryRow {
  readonly kind: 'try' | 'busy' | 'suspect' | 'wait' | 'held' | 'more' | 'gone';
  readonly waitMs: number | null;
  readonly id: string | null;
  readonly topic: string;
  readonly address: string;
  readonly partition: number;
  readonly offset: string;
  readonly wire: string;
  readonly body: string | null;
  readonly sentAtMs: number;
  readonly attempts: number;
  readonly number: number;
}

/**
 * Begins a try of the first message of a parked key, if it is due and nobody else works on it. Messages that were never
 * tried are begun together, as far as `most` and a megabyte go.
 *
 * @param topics without them `retryMs` holds for all topics
 */
export async function beginTry(
  sql: Sql,
  keyId: string,
  { retryMs, holdKey, maxKills }: TryRules,
  { alone, most, worker }: TryHand,
  topics?: TopicDelays,
): Promise<BeginAnswer> {
  const delays =
    topics === undefined
      ? '$2::float8[]'
      : `coalesce((select array(select d::float8 from json_array_elements_text($8::json -> k.topic) d)
           from outbox.parked_key k where k.id = $1::uuid and ($8::json -> k.topic) is not null),
         array_fill($2::float8, array[${moreTriesThanAny}]))`;
  // Clients differ in how they read timestamps, or are told to.
  const rows = await sql.query<TryRow>(
    `select kind, wait_ms as "waitMs", message_id as id, topic, address, partition, "offset", wire, body,
       floor(extract(epoch from sent_at) * 1000)::float8 as "sentAtMs", attempts, number
     from outbox.begin_try($1::uuid, ${delays}, $3, $4::integer, $5::bigint, $6::integer, $7)`,
    [keyId, topics?.elsewhereMs ?? retryMs, holdKey, maxKills, worker, most, alone].concat(
      topics?.byTopic ?? [],
    ),
  );
  const [row] = rows;
  if (row === undefined || row.kind === 'busy') return { kind: 'busy' };
  if (row.kind === 'suspect') return { kind: 'suspect' };
  if (row.kind === 'wait') return { kind: 'wait', inMs: row.waitMs ?? 0 };
  if (row.kind !== 'try') return { kind: row.kind, gaveUp: row.id };
  return { kind: 'try', message: begunOf(row), others: rows.slice(1).map(begunOf) };
}

function begunOf({ id, body, ...row }: TryRow): BegunTry {
  const { address, attempts, number, offset, partition, sentAtMs, topic, wire } = row;
  return {
    id: id ?? '',
    topic,
    address,
    partition,
    offset,
    wire,
    body: body === null ? null : Buffer.from(body, 'base64'),
    sentAt: new Date(sentAtMs),
    attempts,
    number,
  };
}

/**
 * @param messages all of the try
 * @param worker as of {@link TryHand}
 * @param limits as of `receive`
 * @returns false when somebody has decided otherwise since the try began: nothing may be done then
 */
export async function joinTry(
  sql: Sql,
  group: string,
  keyId: string,
  messages: readonly BegunTry[],
  worker: string,
  { idleMs, statementMs }: TransactionLimits = defaultLimits,
): Promise<boolean> {
  const [row] = await sql.query<{ joined: boolean }>(
    `select outbox.join_try($1::uuid, $2, $3::text[], $4::integer, $5::bigint, $6::integer) as joined
     from outbox.limit_transaction($6::integer, $7::integer)`,
    [keyId, group, messages.map(({ id }) => id), messages[0]?.number ?? 0, worker, idleMs, statementMs],
  );
  return row?.joined === true;
}

/** Ends a try of these messages in the transaction of its effects. */
export async function endTry(
  sql: Sql,
  group: string,
  keyId: string,
  ids: readonly string[],
): Promise<'gone' | 'more'> {
  const [row] = await sql.query<{ ended: 'gone' | 'more' }>(
    'select outbox.end_try($1::uuid, $2, $3::text[]) as ended',
    [keyId, group, ids],
  );
  return row?.ended ?? 'gone';
}

export interface FailedTry {
  readonly message: BegunTry;
  readonly reason: string;
  readonly error: string;
  /** No further try can help. */
  readonly final: boolean;
}

export type FailAnswer =
  | { readonly kind: 'wait'; readonly inMs: number }
  /** It was given up, and its key is free, goes on, or is held. */
  | { readonly kind: 'gone' | 'more' | 'held' }
  /** Somebody has decided otherwise since. */
  | { readonly kind: 'busy' };

/** Writes down that a try of one message failed, once its effects are rolled back. */
export async function failTry(
  sql: Sql,
  group: string,
  keyId: string,
  { message: { id, attempts, number }, reason, error, final }: FailedTry,
  { holdKey, retryMs }: Pick<TryRules, 'holdKey' | 'retryMs'>,
): Promise<FailAnswer> {
  const [row] = await sql.query<Pick<TryRow, 'kind' | 'waitMs'>>(
    `select kind, wait_ms as "waitMs"
     from outbox.fail_try($1::uuid, $2, $3, $4::integer, $5::integer, $6, $7, $8, $9::float8[], $10)`,
    [keyId, group, id, attempts, number, reason, storableText(error), final, retryMs, holdKey],
  );
  if (row?.kind === 'wait') return { kind: 'wait', inMs: row.waitMs ?? 0 };
  if (row?.kind === 'gone' || row?.kind === 'more' || row?.kind === 'held') return { kind: row.kind };
  return { kind: 'busy' };
}

/**
 * Hands back a try that failed for reasons other than its messages, once its effects are rolled back: no
 * attempt is counted.
 *
 * @param message the first of the try
 * @param inMs when the key is tried again
 * @returns false when another try has overtaken this one: nothing is changed then
 */
export async function returnTry(
  sql: Sql,
  group: string,
  keyId: string,
  { number }: Pick<BegunTry, 'number'>,
  inMs: number,
): Promise<boolean> {
  const [row] = await sql.query<{ returned: boolean }>(
    'select outbox.return_try($1::uuid, $2, $3::integer, $4::float8) as returned',
    [keyId, group, number, inMs],
  );
  return row?.returned === true;
}
