import { type NativeConnection, Worker } from '@temporalio/worker';
import { createParkedKeyActivities } from '../../../activities/parked-key-activities.ts';
import type { KeyDrains } from '../../inbox/ports.ts';
import { type Hosted, keepRunning } from '../running-workers.ts';
import { parkedKeyTaskQueue } from '../task-queues.ts';
import { bundleWorkflows } from '../workflow-bundle.ts';

export interface ParkedKeyWorkersInput {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly installation: string;
  readonly group: string;
  readonly drains: KeyDrains;
  /** Parked keys that are drained side by side. */
  readonly concurrency: number;
  /** Called with what ended the worker; it is made anew. */
  readonly failed: (error: unknown) => void;
}

/** Runs the worker of a group's parked keys until it is stopped, anew when it fails. */
export async function hostParkedKeyWorkers(input: ParkedKeyWorkersInput): Promise<Hosted> {
  const { connection, namespace, installation, group, drains, concurrency, failed } = input;
  const workflowBundle = await bundleWorkflows();
  const create = async (): Promise<readonly Worker[]> => [
    await Worker.create({
      connection,
      namespace,
      workflowBundle,
      taskQueue: parkedKeyTaskQueue(installation, group),
      activities: { ...createParkedKeyActivities(drains) },
      maxConcurrentActivityTaskExecutions: concurrency,
      // Drains are told of a shutdown at once; they end after the message in hand.
      shutdownGraceTime: 0,
      // A cached workflow is bound to its worker's own queue: after a shutdown its next task would wait there for
      // ten seconds. These histories are short.
      maxCachedWorkflows: 0,
    }),
  ];
  return keepRunning(create, (event) => {
    if (event.type === 'error') failed(event.error);
  });
}
