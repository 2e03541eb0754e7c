import { uuid } from '../core/uuid.ts';
import type { Database } from '../store/database/database.ts';
import { type KeptFilter, type KeptListFilter, type ListedKept, listKept } from '../store/inbox/list.ts';
import {
  type ListedMessage,
  listMessages,
  type MessageFilter,
  type PageCursor,
} from '../store/message/list.ts';
import { checkFilter, checkKeptListFilter } from './filters.ts';
import { invalid, pageSizeOf } from './operation-options.ts';

export type { KeptFilter, KeptListFilter, MessageFilter };

/** Which page of a list. */
export interface ListPageOptions {
  /** 1 to 200. @defaultValue 50 */
  readonly limit?: number | undefined;
  /** `next` of the previous page. @defaultValue the first page */
  readonly after?: string | undefined;
}

/** One page of messages. */
export interface MessageList<Listed = ListedMessage> {
  /**
   * Newest first by position: the order in which they became deliverable; of kept messages, the order of their keys.
   */
  readonly messages: readonly Listed[];
  /**
   * Token of the next page; `null`: this was the last. A page may be short or empty although there is a next one: each reads
   * a bounded number of rows.
   */
  readonly next: string | null;
}

/** One page of kept messages. */
export type KeptList = MessageList<ListedKept>;

/**
 * Lists live messages, newest first; with a filter by id, or by topic and ref, archived ones too. An empty filter lists all.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_ID_INVALID`
 */
export async function list(
  database: Database,
  filter: MessageFilter = {},
  { limit, after }: ListPageOptions = {},
): Promise<MessageList> {
  return pageOf(
    await listMessages(
      database,
      checkFilter(filter),
      pageSizeOf(limit),
      cursorOf(after, (id) => uuid.test(id)),
    ),
  );
}

/**
 * Lists messages that consumers keep. An empty filter lists all; handled ones are not kept.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export async function listKeptMessages(
  database: Database,
  filter: KeptListFilter = {},
  { limit, after }: ListPageOptions = {},
): Promise<KeptList> {
  return pageOf(
    await listKept(database, checkKeptListFilter(filter), pageSizeOf(limit), cursorOf(after, isStorable)),
  );
}

function pageOf<Listed>({
  messages,
  next,
}: {
  readonly messages: readonly Listed[];
  readonly next: PageCursor | null;
}): MessageList<Listed> {
  // Ids of other senders may contain any characters.
  const token = next && `${next.position}_${Buffer.from(next.id).toString('base64url')}`;
  return { messages, next: token };
}

function cursorOf(after: string | undefined, isId: (id: string) => boolean): PageCursor | null {
  if (after === undefined) return null;
  const [, position, encoded = ''] = /^(\d{1,19})_([\w-]+)$/.exec(after) ?? [];
  const id = Buffer.from(encoded, 'base64url').toString();
  if (position === undefined || BigInt(position) > lastPosition || !isId(id))
    throw invalid('after', 'is not the "next" of a page');
  return { position, id };
}

/** The database would answer with an error to others. */
const lastPosition = 2n ** 63n - 1n;
const isStorable = (id: string): boolean => id !== '' && !id.includes('\0');
