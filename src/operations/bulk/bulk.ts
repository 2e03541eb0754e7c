import { type Due, dueOf } from '../../core/due.ts';
import { type Duration, durationMs, longestDurationMs } from '../../core/duration.ts';
import type { BulkAction, BulkChange, BulkStepAnswer, KeptAction } from '../../store/bulk/bulk.ts';
import type { KeptFilter, ListedKept } from '../../store/inbox/list.ts';
import type { ListedMessage, MessageFilter } from '../../store/message/list.ts';
import type { DeclaredTable } from '../declared.ts';
import { bulkOf, bulkOptions, keptBulkOf } from '../inputs/bulk.ts';
import { authored, messageId, page } from '../inputs/values.ts';
import { assertWays, invalid, type OperationOptions } from '../operation-options.ts';
import type { BulkOptions } from './checks.ts';
import { type BulkAnswer, startBulk, startKeptBulk } from './start.ts';
import { type BulkOperation, listBulk, showBulk, stepBulk } from './steps.ts';

/**
 * What to do with every message. With `after`, the due time counts from the moment when each message is changed; `shift`
 * moves the due time of each message, backward if it is negative.
 */
export type BulkTask =
  | { readonly action: Exclude<BulkAction, 'reschedule' | 'replay'> }
  | ReplayTask
  | ({ readonly action: 'reschedule' } & Due)
  | { readonly action: 'reschedule'; readonly shift: Duration };

/**
 * Sends finished messages of one topic again, live and archived: copies with new ids, in the order of the originals per key, whose
 * header `outbox-replay-of` is the id of the original. A copy has no ref. What the topic refuses is counted as `refused`.
 */
export interface ReplayTask {
  /** Copies finished messages. */
  readonly action: 'replay';
  /** Name of the topic that gets the copies; payloads are not checked against its schema. @defaultValue that of the filter */
  readonly to?: string;
  /**
   * UUIDs of the messages, 1 to 1,000, in any order; those that are of another topic, not finished or unknown are left out. Also
   * copies of an earlier replay. @defaultValue all that match the filter, without such copies
   */
  readonly ids?: readonly string[];
}

/** The same for messages that consumers keep. */
export interface KeptTask {
  /** What to do with each message. */
  readonly action: KeptAction;
}

/** Messages that consumers keep: those of one group that match the filter. */
export interface KeptGroupFilter extends KeptFilter {
  /** Name of the consumer group that keeps them, 1 to 512 bytes. */
  readonly group: string;
}

/**
 * Changes to all messages that match a filter, run as Temporal workflows: relays change messages of the outbox, consumers
 * those that their group keeps. The process that starts one need not wait and may end.
 *
 * `list` shows only operations of its own side; the calls that take an id accept operations of both sides.
 */
export interface BulkOperations<Filter = MessageFilter, Task = BulkTask, Sample = ListedMessage> {
  /**
   * Starts a bulk operation, or with `dryRun` counts and shows what it would change. The filter must not be empty. Messages
   * that are sent or kept later are not included. Rejects with `OUTBOX_BULK_UNEXPECTED` if `expect` is given and another
   * number matches.
   */
  start(filter: Filter, task: Task, options: BulkOptions): Promise<BulkAnswer<Sample>>;
  /** Newest first; with `topics` only those that concern no other topic. @defaultValue limit 50, at most 200 */
  list(limit?: number, topics?: readonly string[]): Promise<readonly BulkOperation[]>;
  /** State of one operation. Rejects with `OUTBOX_BULK_UNKNOWN`, like the methods below. */
  show(id: string): Promise<BulkOperation>;
  /** Pauses one after its current page. */
  pause(id: string, options: OperationOptions): Promise<BulkStepAnswer>;
  /** Resumes one that is paused or has failed. */
  resume(id: string, options: OperationOptions): Promise<BulkStepAnswer>;
  /** Ends one after its current page. Changes that were made stay. */
  abort(id: string, options: OperationOptions): Promise<BulkStepAnswer>;
}

/** Bulk operations that consumers run. */
export type KeptBulkOperations = BulkOperations<KeptGroupFilter, KeptTask, ListedKept>;

const list = {
  text: 'list bulk operations, newest first',
  role: 'viewer',
  of: { limit: page.limit },
} as const;
const start = { role: 'operator', options: bulkOptions } as const;
const step = { role: 'operator', of: { id: messageId }, options: authored } as const;

/** What the operations on one bulk operation are for either side. */
const steps = {
  show: {
    text: 'show the state of a bulk operation',
    overHttp: 'Of either kind, with its progress.',
    role: 'viewer',
    of: { id: messageId },
    run: ({ database }, id) => showBulk(database, id),
  },
  pause: {
    text: 'pause a bulk operation after its current page',
    ...step,
    run: ({ database }, id, options) => stepBulk(database, id, 'pause', options),
  },
  resume: {
    text: 'resume a bulk operation that is paused or has failed',
    ...step,
    run: ({ database }, id, options) => stepBulk(database, id, 'resume', options),
  },
  abort: {
    text: 'end a bulk operation after its current page; changes that were made stay',
    ...step,
    run: ({ database }, id, options) => stepBulk(database, id, 'abort', options),
  },
} satisfies DeclaredTable<Omit<BulkOperations, 'list' | 'start'>>;

const taskWays = [
  ['action', 'after', 'at'],
  ['action', 'shift'],
  ['action', 'to', 'ids'],
];

/** The bulk operations on messages of the outbox. */
export const bulkTable = {
  start: {
    text: 'start a change of all messages that match a filter, which relays make; `dryRun` only counts them',
    ...start,
    of: bulkOf,
    check: (_filter, task) => assertWays('a task', taskWays, task),
    run: ({ database }, filter, task, options) =>
      startBulk(database, filter, changeOf(task, filter.topic), options),
  },
  list: {
    ...list,
    overHttp: 'Those on messages of the outbox.',
    run: ({ database }, limit, topics) => listBulk(database, false, limit, topics),
  },
  ...steps,
} satisfies DeclaredTable<BulkOperations>;

/** Those on messages that consumers keep. */
export const keptBulkTable = {
  start: {
    text: 'start a change of all messages that a group keeps and that match a filter, which its consumers make',
    ...start,
    of: keptBulkOf,
    check: (_filter, task) => assertWays('a kept task', [['action']], task),
    run: ({ database }, filter, task, options) => startKeptBulk(database, filter, task.action, options),
  },
  list: {
    ...list,
    overHttp: 'Those on kept messages.',
    run: ({ database }, limit, topics) => listBulk(database, true, limit, topics),
  },
  ...steps,
} satisfies DeclaredTable<KeptBulkOperations>;

function changeOf(task: BulkTask, topic: string | undefined): BulkChange {
  if (task.action === 'replay') {
    const to = task.to ?? topic;
    if (to === undefined) throw invalid('topic', 'is missing: a replay is of one topic');
    return { action: 'replay', to, ...(task.ids !== undefined && { ids: task.ids }) };
  }
  if ('to' in task) throw invalid('to', 'is only for a replay');
  if ('ids' in task) throw invalid('ids', 'is only for a replay: call the operation with the ids');
  if (task.action !== 'reschedule') return { action: task.action };
  if ('shift' in task) {
    const shiftMs = durationMs(task.shift);
    if (shiftMs === undefined) throw invalid('shift', 'must be a duration');
    return { action: 'reschedule', due: { shiftMs } };
  }
  const { afterMs, at } = dueOf(task, longestDurationMs);
  if (at !== undefined) return { action: 'reschedule', due: { at } };
  if (afterMs !== undefined) return { action: 'reschedule', due: { afterMs } };
  throw invalid('after', 'is missing, as are "at" and "shift"');
}
