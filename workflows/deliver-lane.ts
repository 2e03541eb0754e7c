import { continueAsNew, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { LaneActivities } from '../activities/lane-activities.ts';
import type { Lane } from '../src/core/lane.ts';

const { drainLane } = proxyActivities<LaneActivities>({
  // A drain runs for at most 60 seconds; the remaining time is for its last batch.
  startToCloseTimeout: '90 seconds',
  heartbeatTimeout: '5 seconds',
  // A cancel or a shutdown reaches the drain, which settles, frees its lane and returns.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  // Without a maximum the pause would grow to 100 times the first, so delivery would resume minutes after an outage.
  retry: { initialInterval: '200 milliseconds', maximumInterval: '1 second' },
});

/**
 * Empties a lane until it is quiet.
 *
 * It needs no signals: the starter starts it again when the lane has work and no owner. For the same reason cancel and
 * terminate do no harm.
 */
export async function deliverLane(lane: Lane): Promise<void> {
  while (!workflowInfo().continueAsNewSuggested) {
    if ((await drainLane(lane)) === 'quiet') return;
  }
  await continueAsNew<typeof deliverLane>(lane);
}
