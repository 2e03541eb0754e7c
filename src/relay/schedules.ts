import { OutboxError } from '../core/errors.ts';
import { type Loop, looking } from '../core/loop.ts';
import type { Database } from '../store/database/database.ts';
import {
  followAgain,
  forgetRemoved,
  noteFollowed,
  noteUnfollowed,
  readSchedulesToFollow,
  type ScheduleRow,
} from '../store/schedule/follow.ts';
import { type DueAnswer, writeDue } from '../store/schedule/write-due.ts';
import type { Repeater } from './ports.ts';
import type { RelayReport } from './report.ts';

/** Repeating messages of an installation. Any number of relays may do this concurrently. */
export interface Schedules {
  /** Writes the message of one time, if the row of the schedule says so. */
  write(name: string, at: Date): Promise<DueAnswer>;
  /** Has the repeater follow the rows until it is stopped; each is compared again after `compareEveryMs`. */
  keepFollowed(compareEveryMs: number): { stop(): Promise<void> };
}

export interface SchedulesInput {
  readonly database: Database;
  readonly repeater: Repeater;
  readonly report: RelayReport;
}

/** Between looks for changed rows. */
const lookEveryMs = 1_000;

export function createSchedules(input: SchedulesInput): Schedules {
  const { database, report } = input;
  return {
    async write(name, at) {
      const answer = await writeDue(database, name, at);
      // Its row is gone, as in a database that was restored: nothing else would find it.
      if (answer === 'unknown') await drop(input, name);
      if (answer === 'refused') report({ type: 'error', during: 'schedules', error: refused(name) });
      return answer;
    },
    keepFollowed(compareEveryMs) {
      const looks = followed(input, compareEveryMs);
      looks.start();
      return looks;
    },
  };
}

/** A schedule of the same name may have been put, and followed by another relay, since its row was read. */
async function drop({ database, repeater }: SchedulesInput, name: string): Promise<void> {
  await repeater.drop(name);
  await followAgain(database, name);
}

/** Not started yet. */
function followed(input: SchedulesInput, compareEveryMs: number): Loop {
  const { database, repeater, report } = input;
  let comparedAt = Number.NEGATIVE_INFINITY;
  const looks = looking(
    () => {
      const all = performance.now() - comparedAt >= compareEveryMs;
      return followAll(all ? 'all' : 'changed').catch((error: unknown) => tell(error));
    },
    Math.min(lookEveryMs, compareEveryMs),
  );
  return looks;

  async function followAll(which: 'all' | 'changed'): Promise<void> {
    const rows = await readSchedulesToFollow(database, which);
    for (const row of rows) {
      if (looks.stopping.aborted) return;
      // One that is refused must not keep the others from being followed.
      await follow(row).catch((error: unknown) => tell(error));
    }
    if (which === 'all') comparedAt = performance.now();
  }

  async function follow(row: ScheduleRow): Promise<void> {
    if (row.removed) {
      await drop(input, row.name);
      return forgetRemoved(database, row);
    }
    const next = await repeater.nextTimes(row);
    if (next !== undefined && row.followed) return noteFollowed(database, row, next);
    if (await noteUnfollowed(database, row))
      await noteFollowed(database, row, await repeater.follow(row, row));
  }

  function tell(error: unknown): void {
    if (!looks.stopping.aborted) report({ type: 'error', during: 'schedules', error });
  }
}

function refused(name: string): OutboxError {
  return new OutboxError(
    'OUTBOX_SCHEDULE_REFUSED',
    `The database refuses the message of the schedule "${name}"; \`temporal-outbox schedules\` has the reason.`,
    { details: { schedule: name } },
  );
}
