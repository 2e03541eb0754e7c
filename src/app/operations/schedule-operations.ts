import type { OnDatabase, OperationOptions } from '../../operations/operation-options.ts';
import {
  endSchedule,
  pauseSchedule,
  runSchedule,
  type ScheduleChange,
  type ScheduleRun,
} from '../../operations/schedules.ts';
import { type ListedSchedule, listSchedules } from '../../store/schedule/list.ts';

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

/** @param on runs something on the migrated database */
export function scheduleOperations(on: OnDatabase): ScheduleOperations {
  return {
    list: () => on(listSchedules),
    pause: (name, options) =>
      on((at) => pauseSchedule(at, name, true, options), ['a change of a schedule', options]),
    resume: (name, options) =>
      on((at) => pauseSchedule(at, name, false, options), ['a change of a schedule', options]),
    run: (name, options) => on((at) => runSchedule(at, name, options), ['a change of a schedule', options]),
    remove: (name, options) =>
      on((at) => endSchedule(at, name, options), ['a change of a schedule', options]),
  };
}
