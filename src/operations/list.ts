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

/** How much of a list, and from where. */
export interface ListPageOptions {
  /** 1 to 200. @defaultValue 50 */
  readonly limit?: number;
  /** `next` of the page before. @defaultValue the first page */
  readonly after?: string;
}

/** One page of messages. */
export interface MessageList {
  /** Newest first by position: the order in which they became deliverable. */
  readonly messages: readonly ListedMessage[];
  /**
   * For the next page; null: this was the last. A page may be short, or empty, and have a next one: each reads a bounded
   * number of rows.
   */
  readonly next: string | null;
}

/** Which messages. All that is given must hold. */
export interface MessageFilter {
  /** UUID of the message; finds archived ones, too. */
  readonly id?: string;
  /** Name of the topic, exactly. */
  readonly topic?: string;
  /** States as people see them, at least one. @defaultValue all */
  readonly states?: readonly State[];
  /** The key, exactly. */
  readonly key?: string;
  /** The ref, exactly; with `topic` it finds archived messages, too. */
  readonly ref?: string;
  /** Part of the last error, whatever its case. */
  readonly error?: string;
  /** Sent then or later. */
  readonly createdFrom?: Date;
  /** Sent before it. */
  readonly createdTo?: Date;
  /** Due then or later. Messages that were due at once have no due time. */
  readonly dueFrom?: Date;
  /** Due before it. */
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
 * Lists live messages, newest first; by id, or by topic and ref, archived ones too. An empty filter lists all.
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
  if (unknown !== undefined) throw invalid(unknown, 'is no filter');
  for (const name of ['topic', 'key', 'ref', 'error'] as const)
    if (filter[name] !== undefined) assertText(name, filter[name], 1_000);
  const bad = filter.states?.find((state) => !states.includes(state));
  if (bad !== undefined) throw invalid('states', `has "${bad}", which is none of ${states.join(', ')}`);
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
