import { OutboxError } from '../core/errors.ts';
import type { Sql } from '../store/database/database.ts';
import {
  blockerInWords,
  type LaneBlocker,
  readLaneBlockers,
  readLockedLanes,
} from '../store/lane/lane-blockers.ts';

/** Somebody's open transaction that keeps relays from lanes. */
export interface LaneLock {
  /** Process id of the server, for `pg_terminate_backend`. */
  readonly pid: number;
  /** The `application_name` of its connection; empty where it has none. */
  readonly application: string;
  /** As in `pg_stat_activity`. */
  readonly state: string;
  /** When the transaction began; its locks may be younger. */
  readonly since: Date;
  /** Milliseconds since then. */
  readonly openMs: number;
  /** It has all lanes locked, also those to come. */
  readonly all: boolean;
  /** The lanes; empty where `all`, and where the server does not tell which. */
  readonly lanes: readonly { readonly topic: string; readonly lane: number }[];
}

/** Transactions of relays are open for milliseconds; what is open for so long is told. */
const shownAfterMs = 5_000;

/**
 * Who has had lanes locked in a transaction that has been open for some seconds, the oldest first. Of other users'
 * transactions only a member of `pg_read_all_stats` sees how long they have been open, so others see their own only.
 *
 * Waits for no lock.
 *
 * @throws OutboxError `OUTBOX_LANE_LOCKED` when the table is locked so that nobody can read it
 */
export async function readLaneLocks(sql: Sql, afterMs: number = shownAfterMs): Promise<readonly LaneLock[]> {
  const blockers = (await readLaneBlockers(sql)).filter(({ openMs }) => openMs !== null && openMs >= afterMs);
  if (blockers.length === 0) return [];
  const unreadable = blockers.find(({ extent }) => extent === 'reads');
  if (unreadable !== undefined) throw tableLocked(unreadable);
  const locked = await readLockedLanes(sql, blockers);
  return blockers
    .flatMap(({ application, extent, openMs, pid, since, state, transaction }): LaneLock[] => {
      if (openMs === null || since === null) return [];
      const all = extent === 'table';
      const mine = all ? [] : locked.filter((one) => one.transaction === transaction);
      const lanes = mine.map(({ topic, lane }) => ({ topic, lane }));
      return [{ pid, application, state: state ?? 'unknown', since, openMs, all, lanes }];
    })
    .toSorted((a, b) => b.openMs - a.openMs);
}

function tableLocked(blocker: LaneBlocker): OutboxError {
  const { application, openMs, pid, state } = blocker;
  const seconds = Math.round((openMs ?? 0) / 1_000);
  return new OutboxError(
    'OUTBOX_LANE_LOCKED',
    `${blockerInWords(blocker)} has the table outbox.lane locked in a transaction that has been open for ${seconds} s (${state ?? 'unknown'}). Nobody can read it, and all lanes wait.`,
    { details: { pid, application, state, seconds } },
  );
}
