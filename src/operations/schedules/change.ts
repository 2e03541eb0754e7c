import { OutboxError } from '../../core/errors.ts';
import { transactOrRehearse, writeAudit } from '../../store/audit/audit.ts';
import type { Database, Sql } from '../../store/database/database.ts';
import { setSchedulePaused } from '../../store/schedule/change.ts';
import { removeSchedule } from '../../store/schedule/write.ts';
import { writeNow } from '../../store/schedule/write-due.ts';
import { assertText, authorOf, type OperationOptions } from '../operation-options.ts';

/** Result of a change of a schedule. */
export interface ScheduleChange {
  /** False: it was already so. */
  readonly changed: boolean;
}

/** Result of a run by hand. */
export interface ScheduleRun {
  /** Id of the message; with `dryRun` of none. */
  readonly messageId: string;
}

/** Pauses a schedule, or ends its pause. */
export function pauseSchedule(
  database: Database,
  name: string,
  paused: boolean,
  options: OperationOptions,
): Promise<ScheduleChange> {
  const action = paused ? 'pause-schedule' : 'resume-schedule';
  return audited(database, action, name, options, async (sql) => {
    const changed = await setSchedulePaused(sql, name, paused);
    return changed === undefined
      ? undefined
      : { answer: { changed }, result: changed ? 'done' : 'unchanged' };
  });
}

/** Writes a message of a schedule now. */
export function runSchedule(
  database: Database,
  name: string,
  options: OperationOptions,
): Promise<ScheduleRun> {
  return audited(database, 'run-schedule', name, options, async (sql) => {
    const written = await writeNow(sql, name);
    if (written === undefined) return undefined;
    const { id, refusal } = written;
    if (refusal !== null)
      throw new OutboxError(refusal.code, refusal.message, {
        details: { ...refusal.details, schedule: name },
      });
    return { answer: { messageId: id }, result: 'done', details: { messageId: id } };
  });
}

/** Removes a schedule; its messages stay. */
export function endSchedule(
  database: Database,
  name: string,
  options: OperationOptions,
): Promise<ScheduleChange> {
  return audited(database, 'remove-schedule', name, options, async (sql) =>
    (await removeSchedule(sql, name)) ? { answer: { changed: true }, result: 'done' } : undefined,
  );
}

interface Done<Answer> {
  readonly answer: Answer;
  readonly result: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_SCHEDULE_UNKNOWN` if `work` finds none */
function audited<Answer>(
  database: Database,
  action: string,
  name: string,
  options: OperationOptions,
  work: (sql: Sql) => Promise<Done<Answer> | undefined>,
): Promise<Answer> {
  assertText('name', name, 200);
  const author = authorOf(options);
  return transactOrRehearse(database, options.dryRun ?? false, async (sql) => {
    const done = await work(sql);
    if (done === undefined)
      throw new OutboxError('OUTBOX_SCHEDULE_UNKNOWN', `There is no schedule "${name}".`, {
        details: { schedule: name },
      });
    const { answer, details, result } = done;
    await writeAudit(sql, [
      { ...author, action, messageId: null, result, details: { schedule: name, ...details } },
    ]);
    return answer;
  });
}
