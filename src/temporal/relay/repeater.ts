import {
  type Client,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type * as workflows from '../../../workflows/index.ts';
import type { ScheduleDifference } from '../../core/schedule-difference.ts';
import type { Repeater } from '../../relay/ports.ts';
import { maintenanceTaskQueue } from '../task-queues.ts';
import { createSchedule, deleteSchedule, describeSchedule } from './stored-schedules.ts';

type WantedSchedule = Parameters<Repeater['follow']>[0];

/** Name of a workflow that exists. */
const writeScheduled: Extract<keyof typeof workflows, 'writeScheduled'> = 'writeScheduled';

/** A run that no worker takes ends a little after its message would be too late. */
const endedAfterLateMs = 60_000;

/** Id of Temporal's schedule for a repeating message. */
export function messageScheduleId(installation: string, name: string): string {
  return `${installation}/schedule/${name}`;
}

/** Keeps Temporal's schedules for the repeating messages of an installation. */
export function createRepeater(client: Client, installation: string): Repeater {
  const idOf = (name: string): string => messageScheduleId(installation, name);
  return {
    async nextTimes(wanted) {
      const found = await describeSchedule(client, idOf(wanted.name));
      if (found === undefined || !isAsWanted(found, wanted, optionsOf(installation, wanted)))
        return undefined;
      return found.info.nextActionTimes;
    },
    async follow(wanted, missed) {
      const scheduleId = idOf(wanted.name);
      const handle = client.schedule.getHandle(scheduleId);
      const made = optionsOf(installation, wanted);
      const found = await describeSchedule(client, scheduleId);
      if (found === undefined) await createSchedule(client, { scheduleId, ...made });
      else if (!isAsWanted(found, wanted, made)) await handle.update(() => made);
      const { info } = await handle.describe();
      if (!wanted.paused) await repeat(handle, missed, info);
      return info.nextActionTimes;
    },
    drop: (name) => deleteSchedule(client, idOf(name)),
  };
}

/** The server acts by itself from the creation or last change of a schedule on, by its own clock. Rows drop what is no time of theirs. */
async function repeat(
  handle: ScheduleHandle,
  { missedFrom, readAt }: Parameters<Repeater['follow']>[1],
  { createdAt, lastUpdatedAt }: ScheduleDescription['info'],
): Promise<void> {
  const end = new Date(Math.max(readAt.getTime(), (lastUpdatedAt ?? createdAt).getTime()));
  // Older servers leave out a time that is the start.
  const start = new Date(missedFrom.getTime() - 1_000);
  if (start < end) await handle.backfill({ start, end, overlap: ScheduleOverlapPolicy.ALLOW_ALL });
}

/**
 * How Temporal's schedules differ from the rows, by name: `missing` or `different` for one of the rows, `extra` for one that has none.
 */
export async function differencesOf(
  client: Client,
  installation: string,
  rows: readonly WantedSchedule[],
): Promise<ReadonlyMap<string, ScheduleDifference>> {
  const differences = new Map<string, ScheduleDifference>();
  for (const row of rows) {
    const found = await describeSchedule(client, messageScheduleId(installation, row.name));
    if (found === undefined) differences.set(row.name, 'missing');
    else if (!isAsWanted(found, row, optionsOf(installation, row))) differences.set(row.name, 'different');
  }
  const known = new Set(rows.map(({ name }) => name));
  const prefix = messageScheduleId(installation, '');
  for await (const { scheduleId } of client.schedule.list()) {
    const name = scheduleId.slice(prefix.length);
    // The list is some seconds behind.
    if (scheduleId.startsWith(prefix) && !known.has(name) && (await describeSchedule(client, scheduleId)))
      differences.set(name, 'extra');
  }
  return differences;
}

function optionsOf(
  installation: string,
  { name, cron, everyMs, timeZone, catchUpMs, paused }: WantedSchedule,
) {
  return {
    spec: {
      ...(everyMs === null
        ? { cronExpressions: [`${cron ?? ''} #${cron ?? ''}`] }
        : { intervals: [{ every: everyMs }] }),
      timezone: timeZone,
    },
    action: {
      type: 'startWorkflow' as const,
      workflowType: writeScheduled,
      workflowId: messageScheduleId(installation, name),
      taskQueue: maintenanceTaskQueue(installation),
      args: [name],
      // A task of a relay that has just died moves to the next one.
      workflowTaskTimeout: 2_000,
      workflowExecutionTimeout: catchUpMs + endedAfterLateMs,
    },
    // A run takes milliseconds. While no relay takes any, each must wait for itself: a queue of runs would be full of those that
    // are too late. What an overlap of messages means is decided by the row.
    policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL, catchupWindow: catchUpMs },
    state: { paused },
  };
}

/** The server stores a cron line as a calendar, and what follows its # as the comment of that. */
function isAsWanted(
  { spec, action, policies, state }: ScheduleDescription,
  { cron, everyMs }: WantedSchedule,
  made: ReturnType<typeof optionsOf>,
): boolean {
  const calendars = (spec.calendars ?? []).map(({ comment }) => comment);
  const intervals = (spec.intervals ?? []).map(({ every, offset }) => `${every}+${offset ?? 0}`);
  return (
    calendars.join('\n') === (cron ?? '') &&
    intervals.join('\n') === (everyMs === null ? '' : `${everyMs}+0`) &&
    (spec.timezone || 'UTC') === made.spec.timezone &&
    action.workflowType === made.action.workflowType &&
    action.taskQueue === made.action.taskQueue &&
    action.workflowExecutionTimeout === made.action.workflowExecutionTimeout &&
    policies.overlap === made.policies.overlap &&
    policies.catchupWindow === made.policies.catchupWindow &&
    state.paused === made.state.paused
  );
}
