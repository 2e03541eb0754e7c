import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { createBulkActivities } from '../../../activities/bulk-activities.ts';
import { createParkedKeyActivities } from '../../../activities/parked-key-activities.ts';
import type { ParkedKeysPlan } from '../../inbox/consumer-plan.ts';
import { type Hosted, keepRunning } from '../running-workers.ts';
import { shortWorkflows } from '../short-workflows.ts';
import { keptBulkTaskQueue, parkedKeyTaskQueue } from '../task-queues.ts';
import { bundleWorkflows } from '../workflow-bundle.ts';

export interface ParkedKeyWorkersInput extends ParkedKeysPlan {
  readonly connection: NativeConnection;
  readonly namespace: string;
}

/** Number of bulk operations that one consumer runs concurrently. */
const bulkSlots = 2;

/** Runs the worker of a group's parked keys until it is stopped, and recreates it after a failure. */
export function hostParkedKeyWorkers(input: ParkedKeyWorkersInput): Promise<Hosted> {
  const { installation, group, drains, concurrency } = input;
  return host(input, {
    taskQueue: parkedKeyTaskQueue(installation, group),
    activities: { ...createParkedKeyActivities(drains) },
    maxConcurrentActivityTaskExecutions: concurrency,
  });
}

/** The same for the bulk operations on messages that a group keeps. */
export function hostKeptBulkWorkers(input: ParkedKeyWorkersInput): Promise<Hosted> {
  const { installation, group, bulk } = input;
  return host(input, {
    taskQueue: keptBulkTaskQueue(installation, group),
    activities: { ...createBulkActivities(bulk) },
    maxConcurrentActivityTaskExecutions: bulkSlots,
    // It has little to do: few polls, and one thread.
    maxConcurrentActivityTaskPolls: bulkSlots,
    maxConcurrentWorkflowTaskPolls: bulkSlots,
    workflowThreadPoolSize: 1,
  });
}

async function host(
  { connection, namespace, failed }: ParkedKeyWorkersInput,
  options: Omit<WorkerOptions, 'connection' | 'namespace' | 'workflowBundle'>,
): Promise<Hosted> {
  const workflowBundle = await bundleWorkflows();
  const create = async (): Promise<readonly Worker[]> => [
    await Worker.create({
      connection,
      namespace,
      workflowBundle,
      // Activities are cancelled at once on a shutdown: drains end after the message in hand, bulk operations after the page.
      shutdownGraceTime: 0,
      ...shortWorkflows,
      ...options,
    }),
  ];
  return keepRunning(create, (event) => {
    if (event.type === 'error') failed(event.error);
  });
}
