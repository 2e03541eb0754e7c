import { endSession } from '../core/end-session.ts';
import type { LaneLock, LaneStatus } from '../operations/delivery/status.ts';
import { age } from './age.ts';
import { table } from './table.ts';

const heading = ['LOCKED BY', 'APPLICATION', 'STATE', 'SINCE', 'LANES'];

/** Transactions that block lanes, and how to end them. */
export function laneLockTable(locks: readonly LaneLock[]): string {
  const rows = locks.map((lock) => [
    `pid ${lock.pid}`,
    lock.application === '' ? '-' : lock.application,
    lock.state,
    age(lock.openMs),
    lanesOf(lock),
  ]);
  return `${table(heading, rows)}\nLanes wait for such a transaction. End it:\n${endSession}.`;
}

function lanesOf({ all, lanes }: LaneLock): string {
  if (all) return 'all';
  return lanes.length === 0 ? 'not known' : lanes.map(({ topic, lane }) => `${topic}/${lane}`).join(' ');
}

/** The transaction that locks this lane. */
export function lockOf({ topic, lane }: LaneStatus, locks: readonly LaneLock[]): LaneLock | undefined {
  return locks.find(({ all, lanes }) => all || lanes.some((one) => one.topic === topic && one.lane === lane));
}
