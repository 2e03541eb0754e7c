import { sparse, type Table } from '../core/options/collections.ts';
import { readOption } from '../core/options/option-table.ts';
import type { Reader } from '../core/options/reader.ts';
import { duration, optional, value } from '../core/options/values.ts';
import { textOf } from '../core/reason.ts';
import type { KeptFilter, KeptListFilter } from '../store/inbox/list.ts';
import type { MessageFilter } from '../store/message/list.ts';
import { keptConditions, keptListFilter } from './inputs/kept.ts';
import { messageConditions } from './inputs/messages.ts';
import { assertId } from './operation-options.ts';

const id: Reader<string> = { wanted: 'a UUID', read: (given) => assertId(textOf(given)) };
const time = value('a valid Date', (given) =>
  given instanceof Date && !Number.isNaN(given.getTime()) ? given.toISOString() : undefined,
);

const messageFilter = sparse({
  id: optional(id),
  ...messageConditions(time),
} satisfies Table<MessageFilter>);

const olderThan = optional(duration(0));
const keptFilter = sparse({
  ...keptConditions,
  olderThan,
  group: keptListFilter.group,
} satisfies Table<KeptFilter>);
const keptFilterOfList = sparse({ ...keptListFilter, olderThan } satisfies Table<KeptListFilter>);

/** A filter with every value checked, and its times in ISO. @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_ID_INVALID` */
export function checkFilter(filter: MessageFilter): MessageFilter<string> {
  return readOption('the filter', '', messageFilter, filter);
}

/** The same for kept messages, with the age in milliseconds. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function checkKeptFilter(filter: KeptFilter): KeptFilter<number> {
  return readOption('the filter', '', keptFilter, filter);
}

/** The same for a list of them. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function checkKeptListFilter(filter: KeptListFilter): KeptListFilter<number> {
  return readOption('the filter', '', keptFilterOfList, filter);
}
