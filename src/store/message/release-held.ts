import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';

/** Fewer than a claim takes, so that what is released is never more than one batch. */
const rowsAtOnce = 1_000;
/** Some 20 ms where all of them are blocked. */
const keysAtOnce = 2_000;

/** What a release found. */
export interface HeldAnswer {
  /** False: the caller need not ask again before it holds a message itself. True: before each claim. */
  readonly held: boolean;
  readonly released: number;
  /** Where the next call goes on; empty at the end, which is also the start. */
  readonly next: string;
}

/**
 * Makes held messages ready whose key has no blocking message before them any more, in order and key by key: at most
 * 1,000 of them, of at most 2,000 keys behind `after`.
 *
 * Only the owner of the lane calls this, before a claim. A row that a transaction has locked (a cancel that is not
 * committed yet) stays held together with its followers. What is left held keeps later messages of its key from being
 * claimed, so it does not matter for the order when the rest is released.
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
