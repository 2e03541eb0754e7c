import type { Sql } from '../../src/store/database.ts';
import { until } from './until.ts';

/**
 * Waits until so many sessions of this database queue for locks: the order of a race is made, not hoped for.
 *
 * @param leastMs and have queued for so long
 */
export async function untilLockWaits(sql: Sql, sessions: number, leastMs = 0): Promise<void> {
  await until(async () => {
    const rows = await sql.query(
      `select from pg_stat_activity a where a.wait_event_type = 'Lock' and a.datname = current_database()
         and ($1::integer = 0 or exists (select from pg_locks l
           where l.pid = a.pid and not l.granted and l.waitstart < clock_timestamp() - $1::integer * interval '1 ms'))`,
      [leastMs],
    );
    return rows.length >= sessions;
  });
}
