import { continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { LaneActivities } from '../activities/lane-activities.ts';
import type { Lane } from '../src/core/lane.ts';

const { drainLane } = proxyActivities<LaneActivities>({
  // A run of a drain is at most 60 seconds; the rest is for its last batch.
  startToCloseTimeout: '90 seconds',
  heartbeatTimeout: '5 seconds',
  // A cancel or a shutdown reaches the drain, which settles, frees its lane and returns.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  // Without a maximum the pause would grow to 100 times the first, and an outage of minutes would cost minutes more.
  retry: { initialInterval: '200 milliseconds', maximumInterval: '1 second' },
});

/**
 * Empties a lane until it is quiet.
 *
 * It needs no signals: the starter starts it again when there is work and nobody owns the lane. Cancel and terminate
 * do no harm for the same reason.
 */
export async function deliverLane(lane: Lane): Promise<void> {
  while (!workflowInfo().continueAsNewSuggested) {
    if ((await drainLane(lane)) === 'quiet') return;
  }
  await continueAsNew<typeof deliverLane>(lane);
}
