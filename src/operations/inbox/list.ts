import type { Database } from '../../store/database/database.ts';
import { type KeptPosition, type ListedKept, listKept } from '../../store/inbox/list.ts';
import type { ListPageOptions } from '../list.ts';
import { checkKeptFilter, invalid, type KeptFilter } from './kept-target.ts';

/** One page of kept messages. */
export interface KeptList {
  /** Latest first, by their place in the order of their keys. */
  readonly messages: readonly ListedKept[];
  /** Token of the next page; `null`: this was the last. */
  readonly next: string | null;
}

const cursor = /^(\d{1,19})_([\w-]+)$/;

/**
 * Lists messages that consumers keep. An empty filter lists all; handled ones are not kept.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export async function listKeptMessages(
  database: Database,
  filter: KeptFilter = {},
  { limit = 50, after }: ListPageOptions = {},
): Promise<KeptList> {
  if (!Number.isInteger(limit) || limit < 1 || limit > 200)
    throw invalid('limit', 'is not an integer from 1 to 200');
  const page = await listKept(
    database,
    checkKeptFilter(filter),
    limit,
    after === undefined ? null : positionOf(after),
  );
  return { messages: page.messages, next: page.next === null ? null : cursorOf(page.next) };
}

/** Ids of other senders may contain any characters. */
function cursorOf({ position, id }: KeptPosition): string {
  return `${position}_${Buffer.from(id).toString('base64url')}`;
}

function positionOf(after: string): KeptPosition {
  const [, position, id] = cursor.exec(after) ?? [];
  if (position === undefined || id === undefined) throw invalid('after', 'is not the "next" of a page');
  return { position, id: Buffer.from(id, 'base64url').toString() };
}
