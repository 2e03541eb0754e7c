import { looking } from '../../core/loop.ts';
import { late, orLate } from '../../core/or-late.ts';
import { reasonOf } from '../../core/reason.ts';
import type { RelayReport } from '../../relay/report.ts';
import type { Database } from '../../store/database/database.ts';
import { readServerClock } from '../../store/doctor/server.ts';
import { beatMs, silentFor } from './relay-presence.ts';

export interface DatabaseWatchInput {
  readonly database: Database;
  /** Called after each look, with the reason if the database does not answer. */
  readonly looked: (error: string | null) => void;
  /** Between two looks. @defaultValue as long as between two records that a relay runs */
  readonly everyMs?: number;
}

/**
 * Reports each outage of the database when it begins and when it is over. One look without an answer in time is none: a server may be
 * slow for once.
 *
 * @returns what is to be called after each look
 */
export function databaseOutages(report: RelayReport): (error: string | null) => void {
  let since: number | undefined;
  let reported = false;
  return (error) => {
    if (error === null) {
      if (reported && since !== undefined)
        report({ type: 'database-back', awayMs: performance.now() - since });
      [since, reported] = [undefined, false];
      return;
    }
    const isSure = since !== undefined || error !== silentFor.error;
    since ??= performance.now();
    if (isSure && !reported) report({ type: 'database-away', error });
    reported ||= isSure;
  };
}

/** Looks whether the database answers, by itself: all else that a relay looks at may wait for a database that does not. */
export function watchDatabase({ database, looked, everyMs = beatMs }: DatabaseWatchInput): {
  stop(): Promise<void>;
} {
  let asking: Promise<string | null> | undefined;
  const look = async (stopping: AbortSignal): Promise<void> => {
    asking ??= readServerClock(database)
      .then(() => null, reasonOf)
      .finally(() => {
        asking = undefined;
      });
    const error = await orLate(asking, silentFor.ms);
    if (!stopping.aborted) looked(error === late ? silentFor.error : error);
  };
  const looks = looking(look, everyMs);
  looks.start();
  return looks;
}
