import { type Client, type ScheduleDescription, ScheduleOverlapPolicy } from '@temporalio/client';
import type * as workflows from '../../../workflows/index.ts';
import type { MaintenanceIntervals } from '../../relay/timings.ts';
import { maintenanceTaskQueue } from '../task-queues.ts';
import { createSchedule, describeSchedule } from './stored-schedules.ts';

/** Names of workflows that exist. */
type MaintenanceWorkflow = Extract<keyof typeof workflows, 'reconcile' | 'archive'>;

/** Ids of the schedules of an installation. */
export function scheduleIds(installation: string): { readonly reconcile: string; readonly archive: string } {
  return { reconcile: `${installation}/reconcile`, archive: `${installation}/archive` };
}

/**
 * Creates missing schedules of an installation, and updates those that differ. A schedule that an operator has paused stays
 * paused.
 */
export async function ensureSchedules(
  client: Client,
  installation: string,
  intervals: MaintenanceIntervals,
): Promise<void> {
  for (const schedule of schedulesOf(installation, intervals)) await ensure(client, schedule);
}

interface Schedule {
  readonly scheduleId: string;
  readonly spec: { readonly intervals: [{ readonly every: number; readonly offset: number }] };
  readonly action: ReturnType<typeof startOf>;
  readonly policies: { readonly overlap: ScheduleOverlapPolicy; readonly catchupWindow: number };
  /** Runs at once when created: after the loss of a namespace, its workflows should be back soon. */
  readonly state: { readonly triggerImmediately: boolean };
}

function schedulesOf(installation: string, intervals: MaintenanceIntervals): readonly Schedule[] {
  const ids = scheduleIds(installation);
  const of = (workflow: MaintenanceWorkflow, everyMs: number): Schedule => ({
    scheduleId: ids[workflow],
    spec: { intervals: [intervalOf(installation, everyMs)] },
    action: startOf(workflow, installation, everyMs),
    // Missed runs are not caught up: one run sees everything.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: everyMs },
    state: { triggerImmediately: workflow === 'reconcile' },
  });
  return [of('reconcile', intervals.reconcileIntervalMs), of('archive', intervals.archiveIntervalMs)];
}

/** Whole seconds, as Temporal keeps them. Installations that share a server run at different seconds. */
function intervalOf(installation: string, everyMs: number): { every: number; offset: number } {
  const seconds = Math.max(1, Math.round(everyMs / 1_000));
  return {
    every: seconds * 1_000,
    offset: (Number.parseInt(installation.slice(0, 8), 16) % seconds) * 1_000,
  };
}

function startOf(workflow: MaintenanceWorkflow, installation: string, everyMs: number) {
  return {
    type: 'startWorkflow' as const,
    workflowType: workflow,
    workflowId: scheduleIds(installation)[workflow],
    taskQueue: maintenanceTaskQueue(installation),
    args: [],
    // A run that no worker takes must not block all later runs.
    workflowExecutionTimeout: Math.max(15 * 60_000, 2 * everyMs),
  };
}

/** Creates the schedule, or updates the existing one. */
async function ensure(client: Client, schedule: Schedule): Promise<void> {
  const { scheduleId, spec, action, policies } = schedule;
  const found = await describeSchedule(client, scheduleId);
  if (found === undefined) return createSchedule(client, schedule);
  if (isAsWanted(found, schedule)) return;
  const handle = client.schedule.getHandle(scheduleId);
  await handle.update((previous) => ({ ...previous, spec, action, policies }));
}

function isAsWanted({ spec, action, policies }: ScheduleDescription, wanted: Schedule): boolean {
  const [interval] = spec.intervals ?? [];
  const [wantedInterval] = wanted.spec.intervals;
  return (
    interval?.every === wantedInterval.every &&
    interval.offset === wantedInterval.offset &&
    action.workflowType === wanted.action.workflowType &&
    action.taskQueue === wanted.action.taskQueue &&
    action.workflowExecutionTimeout === wanted.action.workflowExecutionTimeout &&
    policies.overlap === wanted.policies.overlap
  );
}
