import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  bundleWorkflowCode,
  type NativeConnection,
  Worker,
  type WorkerOptions,
  type WorkflowBundle,
} from '@temporalio/worker';
import { createLaneActivities } from '../../activities/lane-activities.ts';
import { createMessageActivities } from '../../activities/message-activities.ts';
import type { Relay } from '../relay/relay.ts';
import type { Report } from '../relay/report.ts';
import { laneTaskQueue, messageTaskQueue } from './task-queues.ts';

export interface WorkersInput {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly installation: string;
  readonly relay: Relay;
  readonly report: Report;
  /** Lanes of all topics of this relay: a lane holds an activity slot for as long as it has work. */
  readonly lanes: number;
  /** For tests: what else every worker gets, interceptors for example. */
  readonly extra: Pick<WorkerOptions, 'interceptors'> | undefined;
}

/** Workers that run until they are stopped. */
export interface Hosted {
  /** Resolves after {@link Hosted.stop}. */
  readonly done: Promise<void>;
  /** Ends the workers: drains settle, free their lanes and return first. */
  stop(): Promise<void>;
}

/** Room for lanes that other relays announce while this one runs. */
const spareLaneSlots = 32;
const messageSlots = 50;
/** Before workers that failed are made anew. */
const againAfterMs = 1_000;

/**
 * Runs the workers of a relay: one for lanes, one for messages. Workers that fail are made anew, for a relay that
 * has silently stopped delivering is worse than one that is late.
 *
 * Workflows are bundled at the start by the installed version of the worker, which is the only one that may run them.
 */
export async function hostWorkers(input: WorkersInput): Promise<Hosted> {
  const bundle = await bundleWorkflowCode({ workflowsPath: workflowsPath(), logger: quiet });
  const stopping = new AbortController();
  const first = await createWorkers(input, bundle);
  const done = keepRunning(first, () => createWorkers(input, bundle), input.report, stopping.signal);
  return {
    done,
    stop: () => {
      stopping.abort();
      return done;
    },
  };
}

async function keepRunning(
  first: readonly Worker[],
  create: () => Promise<readonly Worker[]>,
  report: Report,
  stop: AbortSignal,
): Promise<void> {
  const failed = (error: unknown): void => report({ type: 'failed', what: 'workers', error });
  let workers = first;
  for (;;) {
    await runTogether(workers, stop).catch(failed);
    if (stop.aborted) return;
    await delay(againAfterMs, undefined, { signal: stop }).catch(() => undefined);
    workers = await create().catch((error: unknown) => {
      failed(error);
      return [];
    });
  }
}

/** Ends when all have ended. The first failure ends the others, and is thrown then. */
async function runTogether(workers: readonly Worker[], stop: AbortSignal): Promise<void> {
  const runs = workers.map((worker) => worker.run());
  const end = (): void => shutDown(workers);
  stop.addEventListener('abort', end);
  if (stop.aborted) end();
  try {
    await Promise.all(runs);
  } finally {
    stop.removeEventListener('abort', end);
    end();
    await Promise.allSettled(runs);
  }
}

function shutDown(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

async function createWorkers(
  { connection, namespace, installation, relay, lanes, extra }: WorkersInput,
  workflowBundle: WorkflowBundle,
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
  ]);
}

/** The entry of the workflows, in the sources or in the build. */
function workflowsPath(): string {
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
