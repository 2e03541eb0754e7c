import type { Sql } from '../database/database.ts';
import type { PageCursor } from '../message/list.ts';

/** Before all messages: positions begin at 1. */
export const walkStart: PageCursor = { position: '0', id: '00000000-0000-0000-0000-000000000000' };

export interface SelectedPage {
  /** In the order of their positions. */
  readonly ids: readonly string[];
  /** Where the next page begins; `null`: this was the last. */
  readonly next: PageCursor | null;
}

/** The messages of a selection, from the first position to the last. */
export interface Walk<Sample> {
  /**
   * The next messages, at most `limit`.
   *
   * @param bulkId omits messages that this operation has already processed
   */
  page(sql: Sql, after: PageCursor, limit: number, bulkId: string | null): Promise<SelectedPage>;
  /** The messages with these ids, by position, as a dry run shows them. */
  sample(sql: Sql, ids: readonly string[]): Promise<readonly Sample[]>;
}
