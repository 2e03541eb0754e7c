import { readRow, textCell } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';

/**
 * Identifies the history of this database: the text changes when the database is copied, dumped and restored into another
 * one, recovered to a point in time, or taken over by a standby, which may lack the last commits.
 *
 * It does not change after a restore that PostgreSQL cannot distinguish from a restart: a disk snapshot that is put back, or
 * a dump that is loaded into the same database.
 *
 * Only on a primary. Needs no privileges.
 */
export async function readDatabaseEpoch(sql: Sql): Promise<string> {
  const rows = await sql.query<object>(
    // The name of the WAL file begins with the timeline and has a new one at once; the last checkpoint has it later.
    `select concat_ws('.', i.id, (select system_identifier from pg_control_system()), d.oid,
       left(pg_walfile_name(pg_current_wal_lsn()), 8)) as epoch
     from outbox.installation i, pg_database d where d.datname = current_database()`,
  );
  return readRow(rows, { epoch: textCell }).epoch;
}
