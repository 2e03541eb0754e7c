import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';

/** Fewer than a claim takes, so that what is released is never more than one batch. */
const rowsAtOnce = 1_000;
/** About 20 ms if all of them are blocked. */
const keysAtOnce = 2_000;

/** What a release found. */
export interface HeldAnswer {
  /** True: call again before each claim. False: not before the caller itself makes a message held. */
  readonly held: boolean;
  readonly released: number;
  /** Where the next call continues; empty: from the start. */
  readonly next: string;
}

/**
 * Makes held messages ready that are no longer behind a blocking message of their key, in order and key by key: at most
 * 1,000 of them, of at most 2,000 keys after `after`.
 *
 * Only the owner of the lane calls this, before a claim. A locked row (for example by a cancel that is not committed yet)
 * stays held, and so do the later ones of its key. Messages that stay held block later ones of their key in claims, so the
 * order does not depend on when they are released.
 */
export async function releaseHeld(
  sql: Sql,
  { topic, lane }: Lane,
  failedBlocks: boolean,
  after = '',
): Promise<HeldAnswer> {
  const [row] = await sql.query<HeldAnswer>(
    'select held, released, next from outbox.release_held($1, $2, $3, $4, $5, $6)',
    [topic, lane, failedBlocks, after, keysAtOnce, rowsAtOnce],
  );
  return row ?? { held: false, released: 0, next: '' };
}
