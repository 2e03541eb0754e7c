import {
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { BulkActivities } from '../activities/bulk-activities.ts';

const { runBulkPage, abortBulk } = proxyActivities<BulkActivities>({
  // A page takes a second or so; a withdrawal waits up to 15 seconds for the lanes.
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '5 seconds',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '10 seconds' },
});

/** How a bulk operation ended. */
export interface BulkOperationResult {
  /** `unknown`: its row is gone. */
  readonly state: 'done' | 'aborted' | 'unknown';
  /** How many messages had which answer. */
  readonly counts: Readonly<Record<string, number>>;
}

const firstRestMs = 1_000;
const longestRestMs = 60_000;

/**
 * Carries out a bulk operation page by page at its rate, and ends with the counts of its answers.
 *
 * The row decides: it knows how far the operation has come, so this may end, be terminated or start again anywhere. Cancel
 * in the Temporal UI aborts the operation. While it is paused this looks after it now and then; a resume starts it anew.
 */
export async function bulkOperation(id: string): Promise<BulkOperationResult> {
  let cancelRequested = false;
  CancellationScope.current().cancelRequested.catch(() => {
    cancelRequested = true;
  });
  // After a cancel of the root every activity in it fails, so the work runs in a scope of its own.
  return CancellationScope.nonCancellable(async () => {
    let restMs = firstRestMs;
    for (;;) {
      // Asked before the end of a run, for a request does not follow into the next.
      if (cancelRequested && (await abortBulk(id))) throw new CancelledFailure('The operation was aborted.');
      if (workflowInfo().continueAsNewSuggested) return continueAsNew<typeof bulkOperation>(id);
      const answer = await runBulkPage(id);
      if (answer.kind === 'ended') return { state: answer.state, counts: answer.counts };
      const waitMs = answer.kind === 'resting' ? restMs : answer.waitMs;
      restMs = answer.kind === 'resting' ? Math.min(2 * restMs, longestRestMs) : firstRestMs;
      if (waitMs > 0) await condition(() => cancelRequested, waitMs);
    }
  });
}
