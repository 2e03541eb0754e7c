import { rest } from '../../core/rest.ts';
import type { Database, Sql } from '../database/database.ts';

/** Maximum time that a change of a table blocks its other users while it waits for its lock, and how often it is tried. */
const lockMs = 200;
const tries = 3;
const pauseMs = 500;

/**
 * A transaction that changes a table, such as a drop. Each try waits briefly for its locks, a few times.
 *
 * @returns `false` if it has not got them: nothing was done
 */
export async function inBriefLock(
  database: Database,
  work: (sql: Sql) => Promise<unknown>,
): Promise<boolean> {
  for (let tried = 1; ; tried += 1) {
    try {
      await database.transaction(async (sql) => {
        await sql.query(`set local lock_timeout = ${lockMs}`);
        await work(sql);
      });
      return true;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (tried === tries) return false;
      await rest(pauseMs);
    }
  }
}

/** SQLSTATE `lock_not_available` */
function isLockTimeout(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === '55P03';
}
