import {
  choiceCell,
  flagCell,
  numberCell,
  orNull,
  readRow,
  readRows,
  textCell,
} from '../database/answers.ts';
import type { Sql } from '../database/database.ts';
import { storableText } from '../database/storable-text.ts';
import { defaultLimits, type TransactionLimits } from './receive.ts';

/** The retry rules of a group. */
export interface TryRules {
  /** Delays before the second, third, … try; then a message is failed. */
  readonly retryMs: readonly number[];
  /** A failed message blocks its key until a person decides. */
  readonly blockKey: boolean;
  /** A message is failed after this many deaths of a process that had it in hand alone; at least 2. */
  readonly maxKills: number;
}

/** The delays of topics that have a handler in this process, for tries that begin before a message is read. */
export interface TopicDelays {
  /** JSON: `retryMs` by topic name. */
  readonly byTopic: string;
  /**
   * When another process may try a message of any other topic if this process dies of it. Only a process with its handler
   * knows how many tries it has, so this one never fails it for lack of tries.
   */
  readonly elsewhereMs: number;
}

/** Which process begins a try, and its limits. */
export interface TryHand {
  /** Key of an advisory lock, a 64-bit number: connections that begin and join tries hold it while they are open. */
  readonly worker: string;
  /** Maximum number of messages. */
  readonly most: number;
  /** This process has no other suspect in hand. */
  readonly alone: boolean;
}

/** A message whose try has begun. The try of a single message counts from its beginning, that of several does not. */
export interface BegunTry {
  readonly id: string;
  readonly topic: string;
  readonly address: string;
  readonly partition: number;
  readonly offset: string;
  readonly wire: string;
  readonly body: Uint8Array | null;
  readonly sentAt: Date;
  /** Number of tries including this one; the quick retries count as part of the first one. */
  readonly attempts: number;
  /** Number of the try among all of its key; the same for messages that are tried together. */
  readonly number: number;
}

export type BeginAnswer =
  /** `others`: messages behind it that are tried in the same transaction. */
  | { readonly kind: 'try'; readonly message: BegunTry; readonly others: readonly BegunTry[] }
  /** Another process works on the key, or is adding to it. */
  | { readonly kind: 'busy' }
  /** A process died with the first message in hand: it must be tried alone, which this try was not. */
  | { readonly kind: 'suspect' }
  | { readonly kind: 'wait'; readonly inMs: number }
  /** A failed message blocks the key. `gaveUp`: it failed now, because it killed its processes. */
  | { readonly kind: 'blocked'; readonly gaveUp: string | null }
  /** The message failed, because it killed its processes; the key has more. */
  | { readonly kind: 'more'; readonly gaveUp: string | null }
  /** The key is free. */
  | { readonly kind: 'gone'; readonly gaveUp: string | null };

/** Rules allow at most 100. */
const moreTriesThanAny = 200;

const endKinds = ['gone', 'more', 'blocked'] as const;
const failRow = { kind: choiceCell('wait', 'busy', ...endKinds), waitMs: orNull(numberCell) };
const beginRow = {
  kind: choiceCell('try', 'suspect', 'wait', 'busy', ...endKinds),
  waitMs: orNull(numberCell),
  id: orNull(textCell),
};
const tryRow = {
  id: textCell,
  topic: textCell,
  address: textCell,
  partition: numberCell,
  offset: textCell,
  wire: textCell,
  body: orNull((cell) => Buffer.from(textCell(cell), 'base64')),
  sentAt: (cell: unknown) => new Date(numberCell(cell)),
  attempts: numberCell,
  number: numberCell,
};

/**
 * Begins a try of the first message of a parked key, if it is due and no other process works on the key. Messages that were
 * never tried are begun together, up to `most` and one megabyte.
 *
 * @param topics if omitted, `retryMs` applies to all topics
 */
export async function beginTry(
  sql: Sql,
  keyId: string,
  { retryMs, blockKey, maxKills }: TryRules,
  { alone, most, worker }: TryHand,
  topics?: TopicDelays,
): Promise<BeginAnswer> {
  const delays =
    topics === undefined
      ? '$2::float8[]'
      : `coalesce((select array(select d::float8 from json_array_elements_text($8::json -> k.topic) d)
           from outbox.parked_key k where k.id = $1::uuid and ($8::json -> k.topic) is not null),
         array_fill($2::float8, array[${moreTriesThanAny}]))`;
  const answered = await sql.query<object>(
    `select kind, wait_ms as "waitMs", message_id as id, topic, address, partition, "offset", wire, body,
       floor(extract(epoch from sent_at) * 1000)::float8 as "sentAt", attempts, number
     from outbox.begin_try($1::uuid, ${delays}, $3, $4::integer, $5::bigint, $6::integer, $7)`,
    [keyId, topics?.elsewhereMs ?? retryMs, blockKey, maxKills, worker, most, alone].concat(
      topics?.byTopic ?? [],
    ),
  );
  if (answered.length === 0) return { kind: 'busy' };
  const { kind, waitMs, id } = readRow(answered, beginRow);
  if (kind === 'busy' || kind === 'suspect') return { kind };
  if (kind === 'wait') return { kind, inMs: waitMs ?? 0 };
  if (kind !== 'try') return { kind, gaveUp: id };
  const [message, ...others] = readRows(answered, tryRow);
  return message === undefined ? { kind: 'busy' } : { kind, message, others };
}

/**
 * Joins a try in the transaction of its effects.
 *
 * @param messages all messages of the try
 * @param worker as in {@link TryHand}
 * @param limits as in `receive`
 * @returns false if an operator or another process has decided otherwise since the try began: then nothing may be done
 */
export async function joinTry(
  sql: Sql,
  group: string,
  keyId: string,
  messages: readonly BegunTry[],
  worker: string,
  { idleMs, statementMs }: TransactionLimits = defaultLimits,
): Promise<boolean> {
  const rows = await sql.query<object>(
    `select outbox.join_try($1::uuid, $2, $3::text[], $4::integer, $5::bigint, $6::integer) as joined
     from outbox.limit_transaction($6::integer, $7::integer)`,
    [keyId, group, messages.map(({ id }) => id), messages[0]?.number ?? 0, worker, idleMs, statementMs],
  );
  return readRow(rows, { joined: flagCell }).joined;
}

/** Ends a try of these messages in the transaction of its effects. */
export async function endTry(
  sql: Sql,
  group: string,
  keyId: string,
  ids: readonly string[],
): Promise<'gone' | 'more'> {
  const rows = await sql.query<object>('select outbox.end_try($1::uuid, $2, $3::text[]) as ended', [
    keyId,
    group,
    ids,
  ]);
  return readRow(rows, { ended: choiceCell('gone', 'more') }).ended;
}

export interface FailedTry {
  readonly message: BegunTry;
  readonly reason: string;
  readonly error: string;
  /** Retrying cannot help. */
  readonly final: boolean;
}

export type FailAnswer =
  | { readonly kind: 'wait'; readonly inMs: number }
  /** It is failed, and its key is free, goes on, or is blocked. */
  | { readonly kind: 'gone' | 'more' | 'blocked' }
  /** An operator or another process has decided otherwise since. */
  | { readonly kind: 'busy' };

/** Records that a try of one message failed, after its effects were rolled back. */
export async function failTry(
  sql: Sql,
  group: string,
  keyId: string,
  { message: { id, attempts, number }, reason, error, final }: FailedTry,
  { blockKey, retryMs }: Pick<TryRules, 'blockKey' | 'retryMs'>,
): Promise<FailAnswer> {
  const rows = await sql.query<object>(
    `select kind, wait_ms as "waitMs"
     from outbox.fail_try($1::uuid, $2, $3, $4::integer, $5::integer, $6, $7, $8, $9::float8[], $10)`,
    [keyId, group, id, attempts, number, reason, storableText(error), final, retryMs, blockKey],
  );
  const { kind, waitMs } = readRow(rows, failRow);
  return kind === 'wait' ? { kind, inMs: waitMs ?? 0 } : { kind };
}

/**
 * Gives back a try that failed for reasons other than its messages, after its effects were rolled back: no attempt counts.
 *
 * @param message the first message of the try
 * @param inMs when the key is tried again
 * @returns false if another try has overtaken this one: then nothing is changed
 */
export async function returnTry(
  sql: Sql,
  group: string,
  keyId: string,
  { number }: Pick<BegunTry, 'number'>,
  inMs: number,
): Promise<boolean> {
  const rows = await sql.query<object>(
    'select outbox.return_try($1::uuid, $2, $3::integer, $4::float8) as returned',
    [keyId, group, number, inMs],
  );
  return readRow(rows, { returned: flagCell }).returned;
}
