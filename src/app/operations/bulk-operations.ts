import { type Due, dueOf } from '../../core/due.ts';
import { type Duration, durationMs } from '../../core/duration.ts';
import type { BulkOptions } from '../../operations/bulk/checks.ts';
import { type BulkAnswer, startBulk, startKeptBulk } from '../../operations/bulk/start.ts';
import { type BulkOperation, listBulk, showBulk, stepBulk } from '../../operations/bulk/steps.ts';
import { invalid, type OnDatabase, type OperationOptions } from '../../operations/operation-options.ts';
import type { BulkAction, BulkChange, BulkStepAnswer, KeptAction } from '../../store/bulk/bulk.ts';
import type { KeptFilter, ListedKept } from '../../store/inbox/list.ts';
import type { ListedMessage, MessageFilter } from '../../store/message/list.ts';

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

/** @param on runs something on the database of the installation */
export function bulkOperations(on: OnDatabase, longestDelayMs: number): BulkOperations {
  return {
    ...stepsOf(on, false),
    start: (filter, task, options) =>
      on(
        (at) => startBulk(at, filter, changeOf(task, filter.topic, longestDelayMs), options),
        ['a task', task],
        ['a bulk operation', options],
      ),
  };
}

/** @param on runs something on the database in which consumers keep their messages */
export function keptBulkOperations(on: OnDatabase): KeptBulkOperations {
  return {
    ...stepsOf(on, true),
    start: (filter, task, options) =>
      on(
        (at) => startKeptBulk(at, filter, task.action, options),
        ['a kept task', task],
        ['a bulk operation', options],
      ),
  };
}

function stepsOf(on: OnDatabase, kept: boolean): Omit<BulkOperations, 'start'> {
  return {
    list: (limit, topics) => on((at) => listBulk(at, kept, limit, topics)),
    show: (id) => on((at) => showBulk(at, id)),
    pause: (id, options) =>
      on((at) => stepBulk(at, id, 'pause', options), ['pause of a bulk operation', options]),
    resume: (id, options) => on((at) => stepBulk(at, id, 'resume', options), ['resume', options]),
    abort: (id, options) => on((at) => stepBulk(at, id, 'abort', options), ['abort', options]),
  };
}

function changeOf(task: BulkTask, topic: string | undefined, longestDelayMs: number): BulkChange {
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
  const { afterMs, at } = dueOf(task, longestDelayMs);
  if (at !== undefined) return { action: 'reschedule', due: { at } };
  if (afterMs !== undefined) return { action: 'reschedule', due: { afterMs } };
  throw invalid('after', 'is missing, as are "at" and "shift"');
}
