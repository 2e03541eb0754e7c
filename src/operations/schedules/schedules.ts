import { type ListedSchedule, listSchedules } from '../../store/schedule/list.ts';
import type { DeclaredTable } from '../declared.ts';
import { authored, shortName } from '../inputs/values.ts';
import type { OperationOptions } from '../operation-options.ts';
import { endSchedule, pauseSchedule, runSchedule, type ScheduleChange, type ScheduleRun } from './change.ts';

export type { ListedSchedule, ScheduleChange, ScheduleRun };

/**
 * Repeating messages. Every change is one of the row, which decides at once, whether or not Temporal answers; relays have
 * Temporal follow. Each call that names a schedule may reject with `OUTBOX_SCHEDULE_UNKNOWN`.
 */
export interface ScheduleOperations {
  /** All schedules, by name. */
  list(): Promise<readonly ListedSchedule[]>;
  /** Its times write no message, until it is resumed. */
  pause(name: string, options: OperationOptions): Promise<ScheduleChange>;
  /** Ends the pause; times that were missed meanwhile are not caught up. */
  resume(name: string, options: OperationOptions): Promise<ScheduleChange>;
  /** Writes a message now, also while it is paused or the previous one is still to be sent. Rejects as `send` if it is refused. */
  run(name: string, options: OperationOptions): Promise<ScheduleRun>;
  /** Ends it. A service that schedules it again, for example at its start, brings it back. */
  remove(name: string, options: OperationOptions): Promise<ScheduleChange>;
}

const change = { role: 'operator', of: { name: shortName }, options: authored } as const;

/** The operations on repeating messages. */
export const scheduleTable = {
  list: {
    text: 'list schedules: next times, last message',
    role: 'viewer',
    run: ({ database }) => listSchedules(database),
  },
  pause: {
    text: 'pause a schedule: its times write no message until it is resumed',
    ...change,
    run: ({ database }, name, options) => pauseSchedule(database, name, true, options),
  },
  resume: {
    text: 'end the pause of a schedule; what was missed is not caught up',
    ...change,
    run: ({ database }, name, options) => pauseSchedule(database, name, false, options),
  },
  run: {
    text: 'write a message of a schedule now',
    ...change,
    run: ({ database }, name, options) => runSchedule(database, name, options),
  },
  remove: {
    text: 'remove a schedule; messages that were written stay',
    overHttp: 'A service that schedules it again brings it back.',
    ...change,
    run: ({ database }, name, options) => endSchedule(database, name, options),
  },
} satisfies DeclaredTable<ScheduleOperations>;
