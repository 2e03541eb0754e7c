import { randomUUID } from 'node:crypto';
import type { Lane } from '../../core/lane.ts';
import type { Database } from '../database/database.ts';
import { abandonLease, acquireLane, freeLease, markAllSuspect } from './lease.ts';

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
  const acquired = await acquireLane(database, lane, owner);
  if (acquired === undefined) return false;
  if (acquired.lapsed && !(await suspectAll(database, lane, owner))) return false;
  await freeLease(database, lane, owner, false);
  return true;
}

/** @returns false if fenced. After an error the next owner must see that the lane was not freed cleanly. */
async function suspectAll(database: Database, lane: Lane, owner: string): Promise<boolean> {
  try {
    return await markAllSuspect(database, lane, owner);
  } catch (error) {
    await abandonLease(database, lane, owner);
    throw error;
  }
}
