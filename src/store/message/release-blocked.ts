import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';
import { ctidOf, noteCtid } from '../lane/lane-row.ts';

/** Fewer than a claim takes, so that what is released is never more than one batch. */
const rowsAtOnce = 1_000;
/** About 20 ms if all of them are blocked after all. */
const keysAtOnce = 1_000;
/** Of a second, this takes less than a hundredth. */
const walkedAtOnce = 500;

/** What a release found. */
export interface ReleasedMessages {
  /** More keys may be free, or somebody has locked blocked messages of them. */
  readonly freed: boolean;
  readonly released: number;
  /** Where the next call continues; empty: from the start. */
  readonly next: string;
}

/**
 * Makes blocked messages ready that are no longer behind a blocking message of their key, in order and key by key: at most
 * 1,000 of them, of at most 1,000 keys after `after` that have been noted as free. The cost does not depend on how many are not.
 *
 * Only the owner of the lane calls this, before a claim. A locked row (for example by a cancel that is not committed yet)
 * stays blocked, and so do the later ones of its key. Messages that stay blocked block later ones of their key in claims, so the
 * order does not depend on when they are released.
 */
export async function releaseBlocked(
  sql: Sql,
  lane: Lane,
  failedBlocks: boolean,
  after = '',
): Promise<ReleasedMessages> {
  const [row] = await sql.query<ReleasedMessages & { readonly ctid: string | null }>(
    'select freed, released, next, row_ctid::text as ctid from outbox.release_blocked($1, $2, $3, $4, $5, $6, $7)',
    [lane.topic, lane.lane, failedBlocks, after, keysAtOnce, rowsAtOnce, ctidOf(lane)],
  );
  if (row === undefined) throw new Error('A release answers one row.');
  const { ctid, ...found } = row;
  noteCtid(lane, ctid);
  return found;
}

/** Notes which keys are free of those that a settle has made blocked, in its transaction. */
export async function noteBlocked(sql: Sql, { topic, lane }: Lane, ids: readonly string[]): Promise<void> {
  await sql.query('select outbox.note_blocked($1, $2, $3::uuid[])', [topic, lane, [...ids]]);
}

/** A key with blocked messages. */
export interface BlockedKey extends Lane {
  readonly key: string;
}

/**
 * Notes which of the next 500 keys with blocked messages are free although nothing has noted it.
 *
 * @param after where the last call ended; absent: at the start
 * @returns where the next call continues; `undefined`: at the start
 */
export async function walkBlocked(sql: Sql, after?: BlockedKey): Promise<BlockedKey | undefined> {
  const { topic, lane, key } = after ?? { topic: '', lane: 0, key: '' };
  const [last] = await sql.query<BlockedKey>(
    'select topic, lane, key from outbox.walk_blocked($1, $2, $3, $4)',
    [topic, lane, key, walkedAtOnce],
  );
  return last;
}
