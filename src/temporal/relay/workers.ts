import {
  type NativeConnection,
  Worker,
  type WorkerOptions,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { createLaneActivities } from '../../../activities/lane-activities.ts';
import {
  type CalledMaintenance,
  createMaintenanceActivities,
} from '../../../activities/maintenance-activities.ts';
import { createMessageActivities } from '../../../activities/message-activities.ts';
import { maxLanes } from '../../core/lane.ts';
import type { Relay } from '../../relay/relay.ts';
import type { RelayReport } from '../../relay/report.ts';
import { type Hosted, keepRunning } from '../running-workers.ts';
import { shortWorkflows } from '../short-workflows.ts';
import { laneTaskQueue, maintenanceTaskQueue, messageTaskQueue } from '../task-queues.ts';
import { bundleWorkflows } from '../workflow-bundle.ts';

/** Additional options of every worker of a relay: interceptors, and a build id. */
export type WorkerExtras = Pick<WorkerOptions, 'interceptors' | 'workerDeploymentOptions'>;

export interface WorkersInput {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly installation: string;
  readonly relay: Pick<Relay, 'cancel' | 'drain' | 'knows' | 'release'>;
  readonly maintenance: CalledMaintenance;
  readonly report: RelayReport;
  /** How many topics this relay delivers. */
  readonly topics: number;
  readonly extra: WorkerExtras | undefined;
}

const messageSlots = 50;
const maintenanceSlots = 8;

/**
 * Runs the workers of a relay: one for lanes, one for messages, one for maintenance. Workers that fail are recreated,
 * because a relay that silently stops delivering is worse than one that is late.
 */
export async function hostWorkers(input: WorkersInput): Promise<Hosted> {
  const bundle = await bundleWorkflows();
  return keepRunning(() => createWorkers(input, bundle), input.report);
}

async function createWorkers(
  { connection, namespace, installation, relay, maintenance, topics, extra }: WorkersInput,
  workflowBundle: WorkflowBundleOption,
): Promise<readonly Worker[]> {
  const shared = { connection, namespace, workflowBundle, shutdownGraceTime: 0, ...extra };
  return Promise.all([
    Worker.create({
      ...shared,
      ...shortWorkflows,
      taskQueue: laneTaskQueue(installation),
      activities: { ...createLaneActivities(relay) },
      // A lane occupies a slot while it has work, and a topic may get more lanes at any time. Slots cost nothing.
      maxConcurrentActivityTaskExecutions: topics * maxLanes,
    }),
    Worker.create({
      ...shared,
      taskQueue: messageTaskQueue(installation),
      activities: { ...createMessageActivities(relay) },
      maxConcurrentActivityTaskExecutions: messageSlots,
      stickyQueueScheduleToStartTimeout: '1 second',
    }),
    Worker.create({
      ...shared,
      ...shortWorkflows,
      taskQueue: maintenanceTaskQueue(installation),
      activities: { ...createMaintenanceActivities(maintenance) },
      maxConcurrentActivityTaskExecutions: maintenanceSlots,
    }),
  ]);
}
