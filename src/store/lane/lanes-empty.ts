import { randomUUID } from 'node:crypto';
import type { Lane } from '../../core/lane.ts';
import type { Database } from '../database/database.ts';
import { freeLease, takeLane } from './lease.ts';

/**
 * Ensures that no relay has messages of a paused lane in hand: takes the lane like a new owner, which fences the previous
 * one, and frees it. The next owner sees the pause.
 *
 * Rows that an owner with an expired lease may have published are recorded in the lane as suspect.
 *
 * @returns `false` while an owner is alive
 */
export async function emptyHands(database: Database, lane: Lane): Promise<boolean> {
  const owner = randomUUID();
  if (!(await takeLane(database, lane, owner))) return false;
  // Without its hold: its messages may get other lanes.
  await freeLease(database, lane, owner, false);
  return true;
}
