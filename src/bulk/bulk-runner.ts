import { passCrashPoint } from '../core/crash-point.ts';
import { reasonOf } from '../core/reason.ts';
import { type BulkCounts, type BulkState, takeBulkStep } from '../store/bulk/bulk.ts';
import { type PageResult, recordPageFailure, runPage } from '../store/bulk/page.ts';
import type { Transactions } from '../store/database/database.ts';

/** What the workflow of a bulk operation should do next. */
export type BulkPageAnswer =
  /** Run the next page after this time. */
  | { readonly kind: 'more'; readonly waitMs: number }
  /** Check again later: an operator has paused the operation, or its pages failed. */
  | { readonly kind: 'resting'; readonly state: 'paused' | 'failed' }
  | { readonly kind: 'ended'; readonly state: 'done' | 'aborted' | 'unknown'; readonly counts: BulkCounts };

/** Runs bulk operations for workflows. Any number of processes may do so concurrently. */
export interface BulkRunner {
  /**
   * Runs the next page of an operation, and further ones as long as the pages select no messages.
   *
   * @param progress called after each page
   * @param signal when it aborts, the next page is left to the next call
   */
  runPage(id: string, progress: () => void, signal?: AbortSignal): Promise<BulkPageAnswer>;
  /** Aborts an operation on behalf of `actor`, with an audit entry. @returns false if it had already ended otherwise */
  abort(id: string, actor: string): Promise<boolean>;
}

export interface BulkRunnerInput {
  readonly database: Transactions;
  /** Called after every committed page. */
  readonly paged?: (page: PageResult) => Promise<void>;
  /** Called when an operation is done. Must not throw. */
  readonly ended: (id: string, counts: BulkCounts) => void;
  /** Called with the error of a failed page, which is retried. Must not throw. */
  readonly failed: (error: unknown) => void;
}

/** How long one call goes on while its pages select no messages. */
const searchMs = 5_000;
/** Delay before a retry when messages are locked by other transactions. */
const lockedPauseMs = 1_000;
/** Consecutive page errors after which the operation fails. */
const maxFailures = 10;

/** Creates the runner of a relay or a consumer. */
export function createBulkRunner({ database, paged, ended, failed }: BulkRunnerInput): BulkRunner {
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
