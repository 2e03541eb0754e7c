import type { Sql } from '../../src/store/database.ts';
import { until } from './until.ts';

/** Waits until so many sessions of this database queue for locks: the order of a race is made, not hoped for. */
export async function untilLockWaits(sql: Sql, sessions: number): Promise<void> {
  await until(async () => {
    const rows = await sql.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    return rows.length >= sessions;
  });
}
