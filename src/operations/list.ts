import { OutboxError } from '../core/errors.ts';
import { type State, states } from '../core/transitions.ts';
import type { Database } from '../store/database/database.ts';
import {
  type ListedMessage,
  listMessages,
  type MessageSelection,
  type PagePosition,
} from '../store/message/list.ts';
import { assertId, assertText } from './operation-options.ts';

/** Which page of a list. */
export interface ListPageOptions {
  /** 1 to 200. @defaultValue 50 */
  readonly limit?: number;
  /** `next` of the previous page. @defaultValue the first page */
  readonly after?: string;
}

/** One page of messages. */
export interface MessageList {
  /** Newest first by position: the order in which they became deliverable. */
  readonly messages: readonly ListedMessage[];
  /**
   * Token of the next page; `null`: this was the last. A page may be short or empty although there is a next one: each reads
   * a bounded number of rows.
   */
  readonly next: string | null;
}

/** A filter of messages. All given conditions must hold. */
export interface MessageFilter {
  /** UUID of the message; finds archived ones, too. */
  readonly id?: string;
  /** Name of the topic, exactly. */
  readonly topic?: string;
  /** States as `status` and `show` name them, at least one. @defaultValue all */
  readonly states?: readonly State[];
  /** The key, exactly. */
  readonly key?: string;
  /** The ref, exactly; with `topic` it finds archived messages, too. */
  readonly ref?: string;
  /** Part of the last error, case-insensitive. */
  readonly error?: string;
  /** Sent at this time or later. */
  readonly createdFrom?: Date;
  /** Sent before this time. */
  readonly createdTo?: Date;
  /** Due at this time or later. Messages that were due at once have no due time. */
  readonly dueFrom?: Date;
  /** Due before this time. */
  readonly dueTo?: Date;
}

const filterNames = new Set([
  'id',
  'topic',
  'states',
  'key',
  'ref',
  'error',
  'createdFrom',
  'createdTo',
  'dueFrom',
  'dueTo',
]);
const cursor = /^(\d{1,19})_([0-9a-f]{8}-[0-9a-f-]{27})$/;

/**
 * Lists live messages, newest first; with a filter by id, or by topic and ref, archived ones too. An empty filter lists all.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_ID_INVALID`
 */
export async function list(
  database: Database,
  filter: MessageFilter = {},
  { limit = 50, after }: ListPageOptions = {},
): Promise<MessageList> {
  if (!Number.isInteger(limit) || limit < 1 || limit > 200)
    throw invalid('limit', 'is not an integer from 1 to 200');
  const page = await listMessages(
    database,
    checkFilter(filter),
    limit,
    after === undefined ? null : positionOf(after),
  );
  return {
    messages: page.messages,
    next: page.next === null ? null : `${page.next.position}_${page.next.id}`,
  };
}

/** A filter with every value checked. @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_ID_INVALID` */
export function checkFilter(filter: MessageFilter): MessageSelection {
  const unknown = Object.keys(filter).find((name) => !filterNames.has(name));
  if (unknown !== undefined) throw invalid(unknown, 'is not a known filter');
  for (const name of ['topic', 'key', 'ref', 'error'] as const)
    if (filter[name] !== undefined) assertText(name, filter[name], 1_000);
  const bad = filter.states?.find((state) => !states.includes(state));
  if (bad !== undefined) throw invalid('states', `has "${bad}", which is not one of ${states.join(', ')}`);
  if (filter.states?.length === 0) throw invalid('states', 'is empty');
  const { id, createdFrom, createdTo, dueFrom, dueTo, ...rest } = filter;
  const times = { createdFrom, createdTo, dueFrom, dueTo };
  return { ...rest, ...inIso(times), ...(id !== undefined && { id: assertId(id) }) };
}

function inIso(times: Readonly<Record<string, Date | undefined>>): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [name, time] of Object.entries(times)) {
    if (time === undefined) continue;
    if (!(time instanceof Date) || Number.isNaN(time.getTime())) throw invalid(name, 'is not a Date');
    texts[name] = time.toISOString();
  }
  return texts;
}

function positionOf(after: string): PagePosition {
  const [, position, id] = cursor.exec(after) ?? [];
  if (position === undefined || id === undefined) throw invalid('after', 'is not the "next" of a page');
  return { position, id };
}

function invalid(option: string, why: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option "${option}" ${why}.`, { details: { option } });
}
