import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ScheduledActivities } from '../activities/maintenance-activities.ts';
import type { DueAnswer } from '../src/store/schedule/write-due.ts';

const { writeScheduledMessage } = proxyActivities<ScheduledActivities>({
  // An activity of a relay that has just died is tried again by another one.
  startToCloseTimeout: '10 seconds',
  // Without a limit: the schedule ends the run when it is too late for a message.
  retry: { initialInterval: '500 milliseconds', maximumInterval: '10 seconds' },
});

/** One time of a repeating message. Ends with what its row decided. */
export async function writeScheduled(name: string): Promise<DueAnswer> {
  const { startTime, typedSearchAttributes } = workflowInfo();
  // The time that this run stands for, set by Temporal's schedule; it may begin much later.
  const at = typedSearchAttributes.get({ name: 'TemporalScheduledStartTime', type: 'DATETIME' }) ?? startTime;
  return writeScheduledMessage(name, at.toISOString());
}
