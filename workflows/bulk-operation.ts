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
  // A page takes about a second.
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '5 seconds',
  retry: { initialInterval: '500 milliseconds', maximumInterval: '10 seconds' },
});

/** How a bulk operation ended. */
export interface BulkOperationResult {
  /** `unknown`: its row is gone. */
  readonly state: 'done' | 'aborted' | 'unknown';
  /** Number of messages by result. */
  readonly counts: Readonly<Record<string, number>>;
}

const firstRestMs = 1_000;
const longestRestMs = 60_000;

/**
 * Runs a bulk operation page by page at its rate, and ends with the number of messages by result.
 *
 * The row decides: it stores the progress of the operation, so the workflow may end, be terminated or be started again at any
 * point. Cancel in the Temporal UI aborts the operation. While the operation is paused, the workflow polls now and then; a
 * resume starts it again.
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
      // Checked before the end of a run, because a cancel request is not carried over to the next run.
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
