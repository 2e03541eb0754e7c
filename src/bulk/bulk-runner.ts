import { passCrashPoint } from '../core/crash-point.ts';
import { reasonOf } from '../core/reason.ts';
import { type BulkCounts, type BulkState, takeBulkStep } from '../store/bulk/bulk.ts';
import { type PageResult, recordPageFailure, runPage, type WithdrawalPage } from '../store/bulk/page.ts';
import type { Transactions } from '../store/database/database.ts';

/** What the workflow of a bulk operation does next. */
export type BulkPageAnswer =
  /** Run the next page after this time. */
  | { readonly kind: 'more'; readonly waitMs: number }
  /** Look again later: an operator has stopped it, or its pages failed. */
  | { readonly kind: 'resting'; readonly state: 'paused' | 'failed' }
  | { readonly kind: 'ended'; readonly state: 'done' | 'aborted' | 'unknown'; readonly counts: BulkCounts };

/** Carries out bulk operations, for workflows. Any number of processes may do so. */
export interface BulkRunner {
  /**
   * Runs the next page of an operation; several, while they choose nothing.
   *
   * @param progress called after each
   * @param signal the next page is left to the next call
   */
  runPage(id: string, progress: () => void, signal?: AbortSignal): Promise<BulkPageAnswer>;
  /** Aborts an operation on behalf of somebody, with an audit entry. `false`: it had ended before. */
  abort(id: string, actor: string): Promise<boolean>;
}

export interface BulkRunnerInput {
  readonly database: Transactions;
  /** Does a page that one transaction cannot do. @defaultValue there is none */
  readonly withdraw?: (id: string, page: WithdrawalPage) => Promise<PageResult>;
  /** Called after every page that was committed. */
  readonly paged?: (page: PageResult) => Promise<void>;
  /** Called when an operation has come to its end. Must not throw. */
  readonly ended: (id: string, counts: BulkCounts) => void;
  /** Called with what a page has failed with; it is tried again. Must not throw. */
  readonly failed: (error: unknown) => void;
}

/** A search that finds nothing goes on for so long in one call. */
const searchMs = 5_000;
/** What others have locked is tried again after so long. */
const lockedPauseMs = 1_000;
/** Pages in a row that may end with an error before the operation has failed. */
const maxFailures = 10;

/** Makes the runner of a relay, or of a consumer. */
export function createBulkRunner({ database, withdraw, paged, ended, failed }: BulkRunnerInput): BulkRunner {
  return {
    async runPage(id, progress, signal) {
      try {
        return await runPages(id, progress, signal);
      } catch (error) {
        const text = reasonOf(error).slice(0, 2_000);
        const noted = await recordPageFailure(database, id, text, maxFailures).catch(() => undefined);
        failed(error);
        if (noted?.state === 'failed') return { kind: 'resting', state: 'failed' };
        throw error;
      }
    },
    async abort(id, actor) {
      const answer = await takeBulkStep(database, id, 'abort', { actor });
      return answer?.changed === true || answer?.state === 'aborted';
    },
  };

  async function runPages(id: string, progress: () => void, signal?: AbortSignal): Promise<BulkPageAnswer> {
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
          ended(id, result.counts);
          return { kind: 'ended', state: 'done', counts: result.counts };
        case 'more':
          if (result.answered > 0) return { kind: 'more', waitMs: result.waitMs };
          if (result.locked) return { kind: 'more', waitMs: lockedPauseMs };
          if (performance.now() > until || signal?.aborted === true) return { kind: 'more', waitMs: 0 };
      }
    }
  }

  async function onePage(id: string): Promise<PageResult> {
    const page = await runPage(database, id);
    if (page.kind === 'withdraw') {
      if (withdraw === undefined) throw new Error('Only relays can withdraw messages.');
      return withdraw(id, page);
    }
    passCrashPoint('bulk:page-committed');
    await paged?.(page);
    return page;
  }
}

function restingAnswer(state: Exclude<BulkState, 'running'>, counts: BulkCounts): BulkPageAnswer {
  return state === 'paused' || state === 'failed'
    ? { kind: 'resting', state }
    : { kind: 'ended', state, counts };
}
