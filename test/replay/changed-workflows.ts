import { proxyActivities, sleep } from '@temporalio/workflow';
import type { LaneActivities } from '../../activities/lane-activities.ts';
import type { MessageActivities } from '../../activities/message-activities.ts';
import type { Lane } from '../../src/core/lane.ts';
import type { DeliverMessageInput } from '../../workflows/deliver-message.ts';

// What must never happen to a workflow that may be asleep: the same names with other steps.

const { drainLane } = proxyActivities<LaneActivities>({ startToCloseTimeout: '90 seconds' });
const { releaseMessage } = proxyActivities<MessageActivities>({ startToCloseTimeout: '10 seconds' });

/** Sleeps before it drains. */
export async function deliverLane(lane: Lane): Promise<void> {
  await sleep('1 second');
  await drainLane(lane);
}

/** Asks the row before it sleeps. */
export async function deliverMessage({ id, dueInMs }: DeliverMessageInput): Promise<void> {
  await releaseMessage(id);
  await sleep(dueInMs);
}
