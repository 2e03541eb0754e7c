import { type Duration, durationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import {
  abortBulk,
  type BulkAnswer,
  type BulkOperation,
  listBulk,
  pauseBulk,
  resumeBulk,
  showBulk,
  startBulk,
} from '../operations/bulk.ts';
import type { BulkOptions } from '../operations/bulk-filter.ts';
import { startKeptBulk } from '../operations/inbox/bulk.ts';
import type { KeptFilter } from '../operations/inbox/kept-target.ts';
import type { MessageFilter } from '../operations/list.ts';
import type { OperationOptions } from '../operations/operation-options.ts';
import { type Due, dueOf } from '../outbox/prepare.ts';
import type { BulkAction, BulkChange, BulkStepAnswer, KeptAction } from '../store/bulk/bulk.ts';
import type { SampledMessage } from '../store/bulk/selection.ts';
import type { ListedKept } from '../store/inbox/list.ts';
import { assertKeptTask, assertOperation, assertTask, type OnDatabase } from './operation-options.ts';

/**
 * What is to be done to every message. A due time given by `after` counts from the moment of each message; `shift` moves
 * each by so much, a negative one to earlier.
 */
export type BulkTask =
  | { readonly action: Exclude<BulkAction, 'reschedule'> }
  | ({ readonly action: 'reschedule' } & Due)
  | { readonly action: 'reschedule'; readonly shift: Duration };

/** The same for messages that consumers keep. */
export interface KeptTask {
  /** What is done to each. */
  readonly action: KeptAction;
}

/** Which messages that consumers keep: those of one group, and of them what the rest of the filter says. */
export interface KeptBulkTarget extends KeptFilter {
  /** Name of the consumer group that keeps them, 1 to 512 bytes. */
  readonly group: string;
}

/**
 * Changes of all messages that match a filter, carried out as Temporal workflows: of messages of the outbox by relays, of
 * those that a group keeps by its consumers. Nobody has to wait: whoever started one may end.
 *
 * An id means the same operation on both sides; each side lists its own.
 */
export interface BulkOperations<Filter = MessageFilter, Task = BulkTask, Sample = SampledMessage> {
  /**
   * Starts one, or with `dryRun` counts and shows what it would change. The filter must not be empty. Messages made, or kept,
   * later are not in it. Rejects with `OUTBOX_BULK_UNEXPECTED` when `expect` is given and another number matches.
   */
  start(filter: Filter, task: Task, options: BulkOptions): Promise<BulkAnswer<Sample>>;
  /** The newest first. @defaultValue limit 50, at most 200 */
  list(limit?: number): Promise<readonly BulkOperation[]>;
  /** How one stands. Rejects with `OUTBOX_BULK_UNKNOWN`, as all that follow do. */
  show(id: string): Promise<BulkOperation>;
  /** Stops one after the page that is under way. */
  pause(id: string, options: OperationOptions): Promise<BulkStepAnswer>;
  /** Goes on with one that is paused, or has failed. */
  resume(id: string, options: OperationOptions): Promise<BulkStepAnswer>;
  /** Ends one after the page that is under way. What was changed stays so. */
  abort(id: string, options: OperationOptions): Promise<BulkStepAnswer>;
}

/** Those that consumers carry out. */
export type KeptBulkOperations = BulkOperations<KeptBulkTarget, KeptTask, ListedKept>;

/** @param on runs something on the database of the installation */
export function bulkOperations(on: OnDatabase, longestDelayMs: number): BulkOperations {
  return {
    ...stepsOf(on),
    start: (filter, task, options) =>
      on(
        (at) => startBulk(at, filter, changeOf(task, longestDelayMs), options),
        () => {
          assertTask(task);
          assertOperation('a bulk operation', options);
        },
      ),
    list: (limit) => on((at) => listBulk(at, false, limit)),
  };
}

/** @param on runs something on the database in which consumers keep their messages */
export function keptBulkOperations(on: OnDatabase): KeptBulkOperations {
  return {
    ...stepsOf(on),
    start: (filter, task, options) =>
      on(
        (at) => startKeptBulk(at, filter, task.action, options),
        () => {
          assertKeptTask(task);
          assertOperation('a bulk operation', options);
        },
      ),
    list: (limit) => on((at) => listBulk(at, true, limit)),
  };
}

function stepsOf(on: OnDatabase): Pick<BulkOperations, 'show' | 'pause' | 'resume' | 'abort'> {
  return {
    show: (id) => on((at) => showBulk(at, id)),
    pause: (id, options) =>
      on(
        (at) => pauseBulk(at, id, options),
        () => assertOperation('pause of a bulk operation', options),
      ),
    resume: (id, options) =>
      on(
        (at) => resumeBulk(at, id, options),
        () => assertOperation('resume', options),
      ),
    abort: (id, options) =>
      on(
        (at) => abortBulk(at, id, options),
        () => assertOperation('abort', options),
      ),
  };
}

function changeOf(task: BulkTask, longestDelayMs: number): BulkChange {
  if (task.action !== 'reschedule') return { action: task.action };
  if ('shift' in task) {
    const shiftMs = durationMs(task.shift);
    if (shiftMs === undefined) throw invalid('shift', 'is not a duration');
    return { action: 'reschedule', due: { shiftMs } };
  }
  const { afterMs, at } = dueOf(task, longestDelayMs);
  if (at !== undefined) return { action: 'reschedule', due: { at } };
  if (afterMs !== undefined) return { action: 'reschedule', due: { afterMs } };
  throw invalid('after', 'is missing, and so are "at" and "shift"');
}

function invalid(option: string, why: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option "${option}" ${why}.`, { details: { option } });
}
