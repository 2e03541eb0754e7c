import type { Sql } from '../database/database.ts';

/**
 * Names the history that this database goes on with: another text when it was copied, dumped and restored into another
 * database, recovered to a point in time, or taken over by a standby, whose last commits may be lost.
 *
 * A restore that PostgreSQL cannot tell from a restart keeps it: a snapshot of the disk that is put back, or a dump that is
 * loaded into the same database.
 *
 * Only on a primary. Needs no privileges.
 */
export async function readDatabaseEpoch(sql: Sql): Promise<string> {
  const [row] = await sql.query<{ readonly epoch: string }>(
    // The file name of the log begins with the timeline, and knows a new one at once; the last checkpoint is late.
    `select concat_ws('.', i.id, (select system_identifier from pg_control_system()), d.oid,
       left(pg_walfile_name(pg_current_wal_lsn()), 8)) as epoch
     from outbox.installation i, pg_database d where d.datname = current_database()`,
  );
  return row?.epoch ?? '';
}
