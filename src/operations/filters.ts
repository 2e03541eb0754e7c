import { sparse, type Table } from '../core/options/collections.ts';
import { readOption } from '../core/options/option-table.ts';
import type { Reader } from '../core/options/reader.ts';
import { several } from '../core/options/servers.ts';
import { duration, flag, oneOf, optional, value } from '../core/options/values.ts';
import { keptStates } from '../core/parked-states.ts';
import { textOf } from '../core/reason.ts';
import { states } from '../core/transitions.ts';
import type { KeptFilter, KeptListFilter } from '../store/inbox/list.ts';
import type { MessageFilter } from '../store/message/list.ts';
import { assertId, storable } from './operation-options.ts';

const id: Reader<string> = { wanted: 'a UUID', read: (given) => assertId(textOf(given)) };
const text = storable(1_000);
const time = value('a valid Date', (given) =>
  given instanceof Date && !Number.isNaN(given.getTime()) ? given.toISOString() : undefined,
);

const messageFilter = sparse({
  id: optional(id),
  topic: optional(text),
  states: optional(several(oneOf(states), /,/)),
  key: optional(text),
  ref: optional(text),
  error: optional(text),
  createdFrom: optional(time),
  createdTo: optional(time),
  dueFrom: optional(time),
  dueTo: optional(time),
} satisfies Table<MessageFilter>);

const keptConditions = {
  group: optional(text),
  topic: optional(text),
  states: optional(several(oneOf(keptStates), /,/)),
  key: optional(text),
  reason: optional(text),
  olderThan: optional(duration(0)),
} satisfies Table<KeptFilter>;
const keptFilter = sparse(keptConditions);
const keptListFilter = sparse({
  ...keptConditions,
  head: optional(flag()),
} satisfies Table<KeptListFilter>);

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
  return readOption('the filter', '', keptListFilter, filter);
}
