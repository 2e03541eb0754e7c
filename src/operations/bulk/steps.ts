import { OutboxError } from '../../core/errors.ts';
import {
  type BulkRow,
  type BulkStep,
  type BulkStepAnswer,
  bulkSteps,
  readBulk,
  readBulks,
  takeBulkStep,
} from '../../store/bulk/bulk.ts';
import type { Database } from '../../store/database/database.ts';
import { assertId, authorOf, type OperationOptions, pageSizeOf } from '../operation-options.ts';

/** A bulk operation and its progress. */
export type BulkOperation = BulkRow & BulkProgress;

export type { BulkStepAnswer };

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
 * The bulk operations on messages of the outbox, or on those that consumers keep, newest first.
 *
 * @param topics only those that concern no other topic
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for a limit that is not 1 to 200
 */
export async function listBulk(
  database: Database,
  kept: boolean,
  limit?: number,
  topics?: readonly string[],
): Promise<readonly BulkOperation[]> {
  return (await readBulks(database, kept, pageSizeOf(limit), topics)).map(withProgress);
}

/** One bulk operation. @throws OutboxError `OUTBOX_BULK_UNKNOWN`, `OUTBOX_ID_INVALID` */
export async function showBulk(database: Database, id: string): Promise<BulkOperation> {
  const row = await readBulk(database, assertId(id));
  if (row === undefined) throw unknown(id);
  return withProgress(row);
}

/**
 * Pauses a bulk operation after its current page, resumes one that is paused or has failed, or ends one after its current
 * page: changes that were made stay.
 *
 * @throws OutboxError `OUTBOX_BULK_UNKNOWN`, `OUTBOX_ID_INVALID`, `OUTBOX_OPTION_INVALID`
 */
export async function stepBulk(
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
  return answer;
}

function rehearse({ state }: BulkRow, to: BulkStep): BulkStepAnswer {
  const rule = bulkSteps[to];
  const changed = rule.from.includes(state);
  return { changed, state: changed ? rule.to : state };
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
