import { proxyActivities, sleep } from '@temporalio/workflow';
import type { BulkActivities } from '../../activities/bulk-activities.ts';
import type { LaneActivities } from '../../activities/lane-activities.ts';
import type {
  ArchiveActivities,
  ReconcileActivities,
  ScheduledActivities,
} from '../../activities/maintenance-activities.ts';
import type { MessageActivities } from '../../activities/message-activities.ts';
import type { ParkedKeyActivities } from '../../activities/parked-key-activities.ts';
import type { Lane } from '../../src/core/lane.ts';
import type { DeliverMessageInput } from '../../workflows/deliver-message.ts';
import type { DrainParkedKeyInput } from '../../workflows/drain-parked-key.ts';

// What must never happen to a workflow that may be asleep: the same names with other steps.

const { reconcileWorkflows } = proxyActivities<ReconcileActivities>({ startToCloseTimeout: '5 minutes' });
const { archiveFinished } = proxyActivities<ArchiveActivities>({ startToCloseTimeout: '10 minutes' });
const { writeScheduledMessage } = proxyActivities<ScheduledActivities>({ startToCloseTimeout: '30 seconds' });
const { runBulkPage } = proxyActivities<BulkActivities>({ startToCloseTimeout: '2 minutes' });
const { drainKey } = proxyActivities<ParkedKeyActivities>({ startToCloseTimeout: '10 minutes' });
const { drainLane } = proxyActivities<LaneActivities>({ startToCloseTimeout: '90 seconds' });
const { releaseMessage } = proxyActivities<MessageActivities>({ startToCloseTimeout: '10 seconds' });

/** Sleeps before it writes. */
export async function writeScheduled(name: string): Promise<void> {
  await sleep('1 second');
  await writeScheduledMessage(name, '');
}

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

/** Sleeps before it compares. */
export async function reconcile(): Promise<void> {
  await sleep('1 second');
  await reconcileWorkflows();
}

/** Sleeps before it archives. */
export async function archive(): Promise<void> {
  await sleep('1 second');
  await archiveFinished();
}

/** Sleeps before its first page. */
export async function bulkOperation(id: string): Promise<void> {
  await sleep('1 second');
  await runBulkPage(id);
}

/** Tries before it sleeps. */
export async function drainParkedKey({ keyId, dueInMs }: DrainParkedKeyInput): Promise<void> {
  await drainKey(keyId);
  await sleep(dueInMs);
}
