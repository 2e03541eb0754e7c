import {
  type NativeConnection,
  Worker,
  type WorkerOptions,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { createLaneActivities } from '../../activities/lane-activities.ts';
import { createMaintenanceActivities } from '../../activities/maintenance-activities.ts';
import { createMessageActivities } from '../../activities/message-activities.ts';
import type { Maintenance } from '../relay/maintenance.ts';
import type { Relay } from '../relay/relay.ts';
import type { Report } from '../relay/report.ts';
import { type Hosted, keepRunning } from './running-workers.ts';
import { laneTaskQueue, maintenanceTaskQueue, messageTaskQueue } from './task-queues.ts';
import { bundleWorkflows } from './workflow-bundle.ts';

export interface WorkersInput {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly installation: string;
  readonly relay: Relay;
  readonly maintenance: Maintenance;
  readonly report: Report;
  /** Lanes of all topics of this relay: a lane holds an activity slot for as long as it has work. */
  readonly lanes: number;
  /** What else every worker gets: interceptors, or the id of a build. */
  readonly extra: Pick<WorkerOptions, 'interceptors' | 'workerDeploymentOptions'> | undefined;
}

/** Room for lanes that other relays announce while this one runs. */
const spareLaneSlots = 32;
const messageSlots = 50;
const maintenanceSlots = 8;

/**
 * Runs the workers of a relay: one for lanes, one for messages, one for maintenance. Workers that fail are made anew,
 * for a relay that has silently stopped delivering is worse than one that is late.
 */
export async function hostWorkers(input: WorkersInput): Promise<Hosted> {
  const bundle = await bundleWorkflows();
  return keepRunning(() => createWorkers(input, bundle), input.report);
}

async function createWorkers(
  { connection, namespace, installation, relay, maintenance, lanes, extra }: WorkersInput,
  workflowBundle: WorkflowBundleOption,
): Promise<readonly Worker[]> {
  const shared = { connection, namespace, workflowBundle, shutdownGraceTime: 0, ...extra };
  return Promise.all([
    Worker.create({
      ...shared,
      taskQueue: laneTaskQueue(installation),
      activities: { ...createLaneActivities(relay) },
      maxConcurrentActivityTaskExecutions: lanes + spareLaneSlots,
      // A cached workflow is bound to its worker's own queue: after a shutdown its next task would wait there for
      // ten seconds. A lane's history is short, so replaying it costs less than one such pause.
      maxCachedWorkflows: 0,
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
      taskQueue: maintenanceTaskQueue(installation),
      activities: { ...createMaintenanceActivities(maintenance) },
      maxConcurrentActivityTaskExecutions: maintenanceSlots,
      // As for lanes: these histories are short, and there is nobody to wait for after a shutdown.
      maxCachedWorkflows: 0,
    }),
  ]);
}
