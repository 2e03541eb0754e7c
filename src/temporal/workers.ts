import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { createLaneActivities } from '../../activities/lane-activities.ts';
import { createMessageActivities } from '../../activities/message-activities.ts';
import type { Relay } from '../relay/relay.ts';
import { laneTaskQueue, messageTaskQueue } from './task-queues.ts';

export interface WorkersInput {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly installation: string;
  readonly relay: Relay;
  /** Lanes of all topics of this relay: a lane holds an activity slot for as long as it has work. */
  readonly lanes: number;
  /** For tests: what else every worker gets, interceptors for example. */
  readonly extra: Pick<WorkerOptions, 'interceptors'> | undefined;
}

/** Room for lanes that other relays announce while this one runs. */
const spareLaneSlots = 32;

/**
 * The workers of a relay: one for lanes, one for messages.
 *
 * Workflows are bundled at the start by the installed version of the worker, which is the only one that may run them.
 */
export async function createWorkers(input: WorkersInput): Promise<readonly Worker[]> {
  const { connection, namespace, installation, relay, extra } = input;
  const workflowBundle = await bundleWorkflowCode({ workflowsPath: workflowsPath(), logger: quiet });
  const shared = { connection, namespace, workflowBundle, shutdownGraceTime: 0, ...extra };
  return Promise.all([
    Worker.create({
      ...shared,
      taskQueue: laneTaskQueue(installation),
      activities: { ...createLaneActivities(relay) },
      maxConcurrentActivityTaskExecutions: input.lanes + spareLaneSlots,
      // A cached workflow is bound to its worker's own queue: after a shutdown its next task would wait there for
      // ten seconds. A lane's history is short, so replaying it costs less than one such pause.
      maxCachedWorkflows: 0,
    }),
    Worker.create({
      ...shared,
      taskQueue: messageTaskQueue(installation),
      activities: { ...createMessageActivities(relay) },
      maxConcurrentActivityTaskExecutions: 50,
      stickyQueueScheduleToStartTimeout: '1 second',
    }),
  ]);
}

/** The entry of the workflows, in the sources or in the build. */
export function workflowsPath(): string {
  const built = fileURLToPath(new URL('../../workflows/index.js', import.meta.url));
  return existsSync(built) ? built : fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));
}

const quiet = {
  log: () => undefined,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
