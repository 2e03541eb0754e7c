import { passCrashPoint } from '../core/crash-point.ts';
import { type BulkCounts, type BulkState, takeBulkStep } from '../store/bulk/bulk.ts';
import { onlyMatching } from '../store/bulk/changes.ts';
import {
  finishWithdrawalPage,
  type PageResult,
  recordPageFailure,
  runPage,
  type WithdrawalPage,
} from '../store/bulk/page.ts';
import { resumeLeftPauses } from '../store/bulk/pauses.ts';
import type { Database } from '../store/database/database.ts';
import { sendNudge } from '../store/lane/nudge.ts';
import type { Withdraw } from './ports.ts';
import type { Report } from './report.ts';

/** What the workflow of a bulk operation does next. */
export type BulkPageAnswer =
  /** Run the next page after this time. */
  | { readonly kind: 'more'; readonly waitMs: number }
  /** Look again later: an operator has stopped it, or its pages failed. */
  | { readonly kind: 'resting'; readonly state: 'paused' | 'failed' }
  | { readonly kind: 'ended'; readonly state: 'done' | 'aborted' | 'unknown'; readonly counts: BulkCounts };

/** Carries out bulk operations, for workflows. Any number of relays may do so. */
export interface BulkRunner {
  /**
   * Runs the next page of an operation; several, while they choose nothing.
   *
   * @param progress called after each
   */
  runPage(id: string, progress: () => void): Promise<BulkPageAnswer>;
  /** Aborts an operation on behalf of somebody, with an audit entry. `false`: it had ended before. */
  abort(id: string, actor: string): Promise<boolean>;
}

export interface BulkRunnerInput {
  readonly database: Database;
  readonly withdraw: Withdraw;
  readonly report: Report;
}

/** A search that finds nothing goes on for so long in one call. */
const searchMs = 5_000;
/** What others have locked is tried again after so long. */
const lockedPauseMs = 1_000;
/** Pages in a row that may end with an error before the operation has failed. */
const maxFailures = 10;

export function createBulkRunner({ database, withdraw, report }: BulkRunnerInput): BulkRunner {
  return {
    async runPage(id, progress) {
      try {
        return await runPages(id, progress);
      } catch (error) {
        const text = (error instanceof Error ? error.message : String(error)).slice(0, 2_000);
        const noted = await recordPageFailure(database, id, text, maxFailures).catch(() => undefined);
        report({ type: 'error', during: 'bulk', error });
        if (noted?.state === 'failed') return { kind: 'resting', state: 'failed' };
        throw error;
      }
    },
    async abort(id, actor) {
      const answer = await takeBulkStep(database, id, 'abort', { actor });
      await resumeLeftPauses(database, id, { actor });
      return answer?.changed === true || answer?.state === 'aborted';
    },
  };

  async function runPages(id: string, progress: () => void): Promise<BulkPageAnswer> {
    const until = performance.now() + searchMs;
    for (;;) {
      const result = await onePage(id);
      progress();
      switch (result.kind) {
        case 'unknown':
          return { kind: 'ended', state: 'unknown', counts: {} };
        case 'early':
          return { kind: 'more', waitMs: result.waitMs };
        case 'resting':
          return restingAnswer(result.state, result.counts);
        case 'done':
          report({ type: 'bulk-ended', id, counts: result.counts });
          return { kind: 'ended', state: 'done', counts: result.counts };
        case 'more':
          if (result.answered > 0) return { kind: 'more', waitMs: result.waitMs };
          if (result.locked) return { kind: 'more', waitMs: lockedPauseMs };
          if (performance.now() > until) return { kind: 'more', waitMs: 0 };
      }
    }
  }

  async function onePage(id: string): Promise<PageResult> {
    const page = await runPage(database, id);
    if (page.kind === 'withdraw') return withdrawPage(id, page);
    passCrashPoint('relay:bulk-page');
    if ((page.kind === 'more' || page.kind === 'done') && page.lanes.length > 0)
      await sendNudge(database, page.lanes).catch(() => undefined);
    return page;
  }

  async function withdrawPage(id: string, page: WithdrawalPage): Promise<PageResult> {
    try {
      if (page.ids.length > 0)
        await withdraw(page.ids, page.author, (change) => onlyMatching(page.filter, change));
      passCrashPoint('relay:bulk-withdrawn');
    } finally {
      // Of a process that died in the middle of a page.
      await resumeLeftPauses(database, id, page.author);
    }
    return finishWithdrawalPage(database, id);
  }
}

function restingAnswer(state: Exclude<BulkState, 'running'>, counts: BulkCounts): BulkPageAnswer {
  return state === 'paused' || state === 'failed'
    ? { kind: 'resting', state }
    : { kind: 'ended', state, counts };
}
