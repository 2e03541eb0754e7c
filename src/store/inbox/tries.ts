import type { Sql } from '../database.ts';
import { storableText } from './park.ts';
import { shortestIdleMs } from './receive.ts';

/** How tries of a group follow each other. */
export interface TryRules {
  /** Delays before the second, third, … try; then a message is given up. */
  readonly retryMs: readonly number[];
  /** A message that was given up holds its key until a person decides. */
  readonly holdKey: boolean;
}

/** A try that was begun: it counts, whatever becomes of it. */
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
  /** Of the try, among all of its key. */
  readonly number: number;
}

export type BeginAnswer =
  | { readonly kind: 'try'; readonly message: BegunTry }
  /** Somebody else works on the key, or adds to it just now. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'wait'; readonly inMs: number }
  /** A failed message holds the key. `gaveUp`: this one, because it ended whoever tried it. */
  | { readonly kind: 'held'; readonly gaveUp: string | null }
  /** The message was given up, because it ended whoever tried it; the key has more. */
  | { readonly kind: 'more'; readonly gaveUp: string | null }
  /** The key is free. */
  | { readonly kind: 'gone'; readonly gaveUp: string | null };

interface TryRow {
  readonly kind: 'try' | 'busy' | 'wait' | 'held' | 'more' | 'gone';
  readonly waitMs: number | null;
  readonly id: string | null;
  readonly topic: string;
  readonly address: string;
  readonly partition: number;
  readonly offset: string;
  readonly wire: string;
  readonly body: string | null;
  readonly sentAt: Date;
  readonly attempts: number;
  readonly number: number;
}

/** Begins a try of the first message of a parked key, if it is due and nobody else works on it. */
export async function beginTry(sql: Sql, keyId: string, rules: TryRules): Promise<BeginAnswer> {
  const [row] = await sql.query<TryRow>(
    `select kind, wait_ms as "waitMs", message_id as id, topic, address, partition, "offset", wire, body, sent_at as "sentAt", attempts, number
     from outbox.begin_try($1::uuid, $2::float8[], $3)`,
    [keyId, rules.retryMs, rules.holdKey],
  );
  if (row === undefined || row.kind === 'busy') return { kind: 'busy' };
  const { attempts, address, body, id, kind, number, offset, partition, sentAt, topic, waitMs, wire } = row;
  if (kind === 'wait') return { kind, inMs: waitMs ?? 0 };
  if (kind !== 'try' || id === null) return { kind: kind === 'try' ? 'gone' : kind, gaveUp: id };
  return {
    kind,
    message: {
      id,
      topic,
      address,
      partition,
      offset,
      wire,
      body: body === null ? null : Buffer.from(body, 'base64'),
      sentAt,
      attempts,
      number,
    },
  };
}

/**
 * @param idleMs as of `receive`
 * @returns false when somebody has decided otherwise since the try began: nothing may be done then
 */
export async function joinTry(
  sql: Sql,
  group: string,
  keyId: string,
  { id, attempts, number }: BegunTry,
  idleMs: number = shortestIdleMs,
): Promise<boolean> {
  const [row] = await sql.query<{ joined: boolean }>(
    'select outbox.join_try($1::uuid, $2, $3, $4::integer, $5::integer, $6::integer) as joined',
    [keyId, group, id, attempts, number, idleMs],
  );
  return row?.joined === true;
}

/** Ends a try in the transaction of its effects. */
export async function endTry(sql: Sql, group: string, keyId: string, id: string): Promise<'gone' | 'more'> {
  const [row] = await sql.query<{ ended: 'gone' | 'more' }>(
    'select outbox.end_try($1::uuid, $2, $3) as ended',
    [keyId, group, id],
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

/** Writes down that a try failed, once its effects are rolled back. */
export async function failTry(
  sql: Sql,
  group: string,
  { message, reason, error, final }: FailedTry,
  rules: TryRules,
): Promise<FailAnswer> {
  const [row] = await sql.query<Pick<TryRow, 'kind' | 'waitMs'>>(
    `select kind, wait_ms as "waitMs"
     from outbox.fail_try($1, $2, $3::integer, $4, $5, $6, $7::float8[], $8)`,
    [group, message.id, message.attempts, reason, storableText(error), final, rules.retryMs, rules.holdKey],
  );
  if (row?.kind === 'wait') return { kind: 'wait', inMs: row.waitMs ?? 0 };
  if (row?.kind === 'gone' || row?.kind === 'more' || row?.kind === 'held') return { kind: row.kind };
  return { kind: 'busy' };
}

/**
 * Gives a try back that has come to nothing for reasons that are not its message's, once its effects are rolled back: the
 * attempt is not counted.
 *
 * @param inMs when the key is tried again
 * @returns false when somebody has decided otherwise since, or another try has overtaken this one: nothing is changed then
 */
export async function returnTry(
  sql: Sql,
  group: string,
  keyId: string,
  { id, attempts, number }: BegunTry,
  inMs: number,
): Promise<boolean> {
  const [row] = await sql.query<{ returned: boolean }>(
    'select outbox.return_try($1::uuid, $2, $3, $4::integer, $5::integer, $6::float8) as returned',
    [keyId, group, id, attempts, number, inMs],
  );
  return row?.returned === true;
}
