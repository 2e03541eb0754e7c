import { numberCell, orNull, readRow, textCell } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';

/** Where the walk through ended messages has arrived. */
export interface EndedCursor {
  readonly at: string;
  readonly group: string;
  readonly id: string;
}

/** One page of {@link dropEnded}. */
export interface EndedPage {
  readonly deleted: number;
  /** Where the next page begins; `null`: this was the last one. */
  readonly next: EndedCursor | null;
}

const pageMessages = 1_000;
const beginning: EndedCursor = { at: '-infinity', group: '', id: '' };

/**
 * Deletes a page of the superseded and discarded messages that consumers of this database keep, unchanged for `ageMs`. Does
 * not wait for locks: locked ones stay until the next walk. A superseded message stays while the copy that replaced it is
 * open.
 *
 * @param after where the previous page ended; `null`: the beginning
 */
export async function dropEnded(sql: Sql, ageMs: number, after: EndedCursor | null): Promise<EndedPage> {
  const { at, group, id } = after ?? beginning;
  const rows = await sql.query<object>(
    `select d.deleted, d.next_at::text as at, d.next_group as "group", d.next_id as id
     from outbox.limit_idle(), outbox.drop_ended_kept($1::bigint, $2::timestamptz, $3, $4, ${pageMessages}) d`,
    [String(Math.round(ageMs)), at, group, id],
  );
  const cursor = { at: orNull(textCell), group: orNull(textCell), id: orNull(textCell) };
  const { deleted, ...next } = readRow(rows, { deleted: numberCell, ...cursor });
  if (next.at === null || next.group === null || next.id === null) return { deleted, next: null };
  return { deleted, next: { at: next.at, group: next.group, id: next.id } };
}

/** Which failed messages are deleted. */
export interface FailedEnd {
  readonly group: string;
  /** How long they have been unchanged. */
  readonly ageMs: number;
  /** Only those with a copy among the dead letters. */
  readonly copied: boolean;
}

/**
 * Deletes a page of the failed messages of a group. Those that block their key stay, and for now also locked ones.
 *
 * @returns how many were deleted, and whether there may be more
 */
export async function dropFailed(
  sql: Sql,
  { group, ageMs, copied }: FailedEnd,
): Promise<{ readonly deleted: number; readonly more: boolean }> {
  const rows = await sql.query<object>(
    `select d as deleted
     from outbox.limit_idle(), outbox.drop_failed_kept($1, $2::bigint, $3::boolean, ${pageMessages}) d`,
    [group, String(Math.round(ageMs)), copied],
  );
  const { deleted } = readRow(rows, { deleted: numberCell });
  return { deleted, more: deleted >= pageMessages };
}
