import { randomUUID } from 'node:crypto';
import { OutboxError } from '../core/errors.ts';
import {
  type BulkChange,
  type BulkRow,
  type BulkScope,
  type BulkState,
  type BulkStep,
  type BulkStepAnswer,
  bulkSteps,
  insertBulk,
  readBulk,
  readBulks,
  takeBulkStep,
} from '../store/bulk/bulk.ts';
import { countSelection, fixTimes } from '../store/bulk/count.ts';
import { resumeLeftPauses } from '../store/bulk/pauses.ts';
import { type BulkFilter, type SampledMessage, walkOf } from '../store/bulk/selection.ts';
import type { Walk } from '../store/bulk/walk.ts';
import type { Database } from '../store/database/database.ts';
import {
  type BulkOptions,
  type CheckedOptions,
  checkBulkFilter,
  checkChange,
  checkOptions,
} from './bulk-filter.ts';
import type { MessageFilter } from './list.ts';
import { assertId, authorOf, type OperationOptions } from './operation-options.ts';

/** What a dry run found, or what was started. */
export interface BulkAnswer<Sample = SampledMessage> {
  /** `null` after a dry run: nothing was started. */
  readonly id: string | null;
  /** `done` if there is nothing to do. `null` after a dry run. */
  readonly state: BulkState | null;
  /** Messages of the selection. */
  readonly count: number;
  /** False: there are at least this many. Counting stops at 100,000, or after ten seconds. */
  readonly exact: boolean;
  /** The first ten of them. */
  readonly sample: readonly Sample[];
}

/** A bulk operation and its progress. */
export type BulkOperation = BulkRow & BulkProgress;

/** How far a bulk operation has come. */
export interface BulkProgress {
  /** Messages with a result so far, including refused ones. */
  readonly answered: number;
  /** Share of the messages counted at the start, 0 to 1; 1 only when it is done. `null`: they were too many to count. */
  readonly progress: number | null;
  /** Minimum of milliseconds until its end, from its rate; `null`: it does not run, or that is unknown. */
  readonly etaMs: number | null;
}

/**
 * Starts a change of all messages that match a filter: relays make it page by page, within its rate. A crash of this process
 * or of relays neither stops it nor repeats a message. Messages that are sent after the start are not included, nor those
 * that no longer match when their page is processed.
 *
 * A dry run counts and shows what would be changed, and writes nothing.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` (for example for an empty filter), `OUTBOX_BULK_UNEXPECTED`
 */
export async function startBulk(
  database: Database,
  filter: MessageFilter,
  change: BulkChange,
  options: BulkOptions,
): Promise<BulkAnswer> {
  const checkedOptions = checkOptions(options);
  const checked = checkChange(change);
  const fixed = await fix(database, checkBulkFilter(filter, checked.action), checked);
  const scope = { group: null, filter: fixed.filter };
  return startChecked(database, { ...fixed, scope, walk: walkOf(fixed) }, checkedOptions);
}

/** The change and the selection of a bulk operation, with all times fixed. */
export interface FixedBulk<Sample> {
  readonly scope: BulkScope;
  readonly change: BulkChange;
  readonly selectedUntil: string;
  readonly walk: Walk<Sample>;
}

/**
 * Counts, and stores the operation; a dry run only counts.
 *
 * @throws OutboxError `OUTBOX_BULK_UNEXPECTED`
 */
export async function startChecked<Sample>(
  database: Database,
  { scope, change, selectedUntil, walk }: FixedBulk<Sample>,
  { author, ratePerSecond, expect, dryRun }: CheckedOptions,
): Promise<BulkAnswer<Sample>> {
  const { count, exact, sample } = await countSelection(database, walk);
  if (dryRun) return { id: null, state: null, count, exact, sample };
  if (expect !== undefined && expect !== count) {
    throw new OutboxError(
      'OUTBOX_BULK_UNEXPECTED',
      `${expect} messages are expected, but ${exact ? '' : 'at least '}${count} match. Nothing was started.`,
      { details: { expect, count, exact } },
    );
  }
  const { id, state } = await insertBulk(database, {
    id: randomUUID(),
    scope,
    change,
    author,
    ratePerSecond,
    selectedUntil,
    total: count,
    totalExact: exact,
  });
  return { id, state, count, exact, sample };
}

/**
 * The bulk operations on messages of the outbox, or on those that consumers keep, newest first.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for a limit that is not 1 to 200
 */
export async function listBulk(
  database: Database,
  kept: boolean,
  limit = 50,
): Promise<readonly BulkOperation[]> {
  if (!Number.isInteger(limit) || limit < 1 || limit > 200) {
    throw new OutboxError('OUTBOX_OPTION_INVALID', 'The option "limit" is not an integer from 1 to 200.', {
      details: { option: 'limit' },
    });
  }
  return (await readBulks(database, kept, limit)).map(withProgress);
}

/** One bulk operation. @throws OutboxError `OUTBOX_BULK_UNKNOWN`, `OUTBOX_ID_INVALID` */
export async function showBulk(database: Database, id: string): Promise<BulkOperation> {
  const row = await readBulk(database, assertId(id));
  if (row === undefined) throw unknown(id);
  return withProgress(row);
}

/** Pauses a bulk operation after its current page. @throws OutboxError `OUTBOX_BULK_UNKNOWN`, `OUTBOX_ID_INVALID`, `OUTBOX_OPTION_INVALID` */
export function pauseBulk(
  database: Database,
  id: string,
  options: OperationOptions,
): Promise<BulkStepAnswer> {
  return step(database, id, 'pause', options);
}

/** Resumes one that is paused or has failed. @throws as {@link pauseBulk} */
export function resumeBulk(
  database: Database,
  id: string,
  options: OperationOptions,
): Promise<BulkStepAnswer> {
  return step(database, id, 'resume', options);
}

/** Ends one for good after its current page. Changes that were made stay. @throws as {@link pauseBulk} */
export function abortBulk(
  database: Database,
  id: string,
  options: OperationOptions,
): Promise<BulkStepAnswer> {
  return step(database, id, 'abort', options);
}

async function step(
  database: Database,
  id: string,
  to: BulkStep,
  options: OperationOptions,
): Promise<BulkStepAnswer> {
  const author = authorOf(options);
  const known = assertId(id);
  if (options.dryRun === true) return rehearse(await showBulk(database, known), to);
  const answer = await takeBulkStep(database, known, to, author);
  if (answer === undefined) throw unknown(id);
  if (to === 'abort') await resumeLeftPauses(database, known, author);
  return answer;
}

function rehearse({ state }: BulkRow, to: BulkStep): BulkStepAnswer {
  const rule = bulkSteps[to];
  const changed = rule.from.includes(state);
  return { changed, state: changed ? rule.to : state };
}

async function fix(
  database: Database,
  filter: BulkFilter,
  change: BulkChange,
): Promise<{ readonly filter: BulkFilter; readonly change: BulkChange; readonly selectedUntil: string }> {
  const names = ['createdFrom', 'createdTo', 'dueFrom', 'dueTo'] as const;
  const given = names.flatMap((name) => (filter[name] === undefined ? [] : [[name, filter[name]] as const]));
  const at = change.action === 'reschedule' && 'at' in change.due ? [['at', change.due.at] as const] : [];
  const { now, times } = await fixTimes(database, Object.fromEntries([...given, ...at]));
  const { at: due, ...bounds } = times;
  return {
    filter: { ...filter, ...bounds },
    change: due === undefined ? change : { action: 'reschedule', due: { at: due } },
    selectedUntil: now,
  };
}

function withProgress(row: BulkRow): BulkOperation {
  const { state, total, totalExact, ratePerSecond } = row;
  const answered = Object.values(row.counts).reduce((sum, count) => sum + count, 0);
  const left = Math.max(0, total - answered);
  // Messages that were locked or skipped may still follow, so the share is 1 only at the end.
  const share = totalExact ? Math.min(0.999, answered / Math.max(1, total)) : null;
  return {
    ...row,
    answered,
    progress: state === 'done' ? 1 : share,
    etaMs: state === 'running' && totalExact ? Math.ceil((left / ratePerSecond) * 1_000) : null,
  };
}

function unknown(id: string): OutboxError {
  return new OutboxError('OUTBOX_BULK_UNKNOWN', `There is no bulk operation ${id}.`, { details: { id } });
}
