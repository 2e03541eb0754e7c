import { randomUUID } from 'node:crypto';
import type { Lane } from '../../core/lane.ts';
import type { Database } from '../database/database.ts';
import { readSnapshot } from '../message/withdraw.ts';
import { abandonLease, acquireLane, freeLease, markSuspect } from './lease.ts';

/**
 * Makes sure that no relay has messages of a paused lane in hand: takes the lane as a new owner would, which fences the
 * one before, and frees it. The next owner sees the pause.
 *
 * What an owner whose lease ran out may have published is remembered in the lane.
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

/** False: fenced. After an error the next owner must know that it does not follow a clean end. */
async function suspectAll(database: Database, lane: Lane, owner: string): Promise<boolean> {
  try {
    return await markSuspect(database, lane, owner, await readSnapshot(database));
  } catch (error) {
    await abandonLease(database, lane, owner);
    throw error;
  }
}
