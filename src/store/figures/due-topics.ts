import type { Sql } from '../database/database.ts';
import {
  type LaneBlocker,
  type LockedLane,
  readLaneBlockers,
  readLockedLanes,
} from '../lane/lane-blockers.ts';
import type { LaneStatus } from '../lane/status.ts';
import type { DueTopic } from './figures.ts';

/** A lock that is held for less says nothing: relays hold them for milliseconds. */
const lockedForMs = 5_000;

/** How late each topic is, and why its oldest due message waits, as far as rows show it. */
export async function readDueTopics(sql: Sql, lanes: readonly LaneStatus[]): Promise<readonly DueTopic[]> {
  const late = lanes.some(({ oldestDueMs }) => (oldestDueMs ?? 0) > lockedForMs);
  const locks = late ? await readLocks(sql) : [];
  const topics = new Map<string, DueTopic>();
  // The lane with the oldest due message comes first.
  for (const lane of lanes) {
    const { oldestDueMs, topic } = lane;
    if (topics.has(topic)) continue;
    const reason = oldestDueMs === null ? null : reasonOf(lane, locks);
    topics.set(topic, { topic, announced: lane.lane !== null, oldestDueMs, reason });
  }
  return [...topics.values()].toSorted((a, b) => (a.topic < b.topic ? -1 : 1));
}

type Lock = LaneBlocker & { readonly lanes: readonly LockedLane[] };

async function readLocks(sql: Sql): Promise<readonly Lock[]> {
  const blockers = (await readLaneBlockers(sql)).filter(({ openMs }) => (openMs ?? 0) >= lockedForMs);
  if (blockers.length === 0) return [];
  const locked = await readLockedLanes(sql, blockers);
  return blockers.map((blocker) => ({
    ...blocker,
    lanes: locked.filter(({ transaction }) => transaction === blocker.transaction),
  }));
}

function reasonOf(
  { hold, lane, paused, rateWaitMs, topic }: LaneStatus,
  locks: readonly Lock[],
): string | null {
  if (lane === null) return null;
  const lock = locks.find(
    ({ extent, lanes }) =>
      extent !== 'rows' || lanes.some((locked) => locked.topic === topic && locked.lane === lane),
  );
  if (lock !== undefined) {
    const name = lock.application === '' ? '' : ` ("${lock.application}")`;
    return `lane ${lane} is locked by pid ${lock.pid}${name}`;
  }
  if (paused) return 'it is paused';
  if (hold !== null) return `lane ${lane} is on hold: ${hold.reason}`;
  return rateWaitMs === null ? null : 'it waits for the rate of its topic';
}
