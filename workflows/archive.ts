import { proxyActivities } from '@temporalio/workflow';
import type { ArchiveActivities } from '../activities/maintenance-activities.ts';
import type { RetentionOutcome } from '../src/store/retention/retention.ts';

const { archiveFinished } = proxyActivities<ArchiveActivities>({
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '5 seconds',
  // After a failed run the schedule starts the next one within minutes; what was moved stays moved.
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds', maximumAttempts: 5 },
});

/** One round of the retention; a schedule starts it. Ends with what was moved and deleted. */
export async function archive(): Promise<RetentionOutcome> {
  return archiveFinished();
}
