import type { Lane } from '../../core/lane.ts';
import { restOfWalk } from './due-edge.ts';

/**
 * Until when claims do not look whether any message of the lane is retrying or blocked, or failed where that blocks, by the lane object of
 * its owner.
 *
 * While an old snapshot exists, such a look reads all that have been. A claim without one asks for each of its keys, and is as right.
 */
const restsUntil = new WeakMap<Lane, number>();

/** Whether a claim may look. @param now by the clock of `performance.now()` */
export function mayLookForBlocking(lane: Lane, now: number): boolean {
  return now >= (restsUntil.get(lane) ?? Number.NEGATIVE_INFINITY);
}

/** Notes that a claim has looked. */
export function lookedForBlocking(lane: Lane, startedAt: number, endedAt: number): void {
  restsUntil.set(lane, restOfWalk(startedAt, endedAt));
}
