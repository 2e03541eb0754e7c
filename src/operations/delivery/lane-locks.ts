import { OutboxError } from '../../core/errors.ts';
import type { Sql } from '../../store/database/database.ts';
import {
  blockerInWords,
  type LaneBlocker,
  readLaneBlockers,
  readLockedLanes,
} from '../../store/lane/lane-blockers.ts';

/** An open transaction that blocks lanes. */
export interface LaneLock {
  /** Process id of the server, for `pg_terminate_backend`. */
  readonly pid: number;
  /** The `application_name` of its connection; empty if not set. */
  readonly application: string;
  /** As in `pg_stat_activity`. */
  readonly state: string;
  /** When the transaction began; its locks may be newer. */
  readonly since: Date;
  /** Milliseconds since then. */
  readonly openMs: number;
  /** It locks all lanes, including future ones. */
  readonly all: boolean;
  /** The lanes; empty if `all`, or if the server does not show which. */
  readonly lanes: readonly { readonly topic: string; readonly lane: number }[];
}

/** Transactions that have been open for this long are shown; those of relays take milliseconds. */
const shownAfterMs = 5_000;

/**
 * Transactions that have locked lanes and have been open for some seconds, oldest first. Only a member of
 * `pg_read_all_stats` sees how long other users' transactions have been open, so other roles see only their own.
 *
 * Does not wait for locks.
 *
 * @throws OutboxError `OUTBOX_LANE_LOCKED` if the table is locked against reads
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
    `${blockerInWords(blocker)} holds a lock on the table outbox.lane in a transaction that has been open for ${seconds} s (${state ?? 'unknown'}). It cannot be read, and all lanes wait.`,
    { details: { server: 'PostgreSQL', pid, application, state, seconds } },
  );
}
