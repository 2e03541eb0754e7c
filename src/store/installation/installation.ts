import { OutboxError } from '../../core/errors.ts';
import type { Sql } from '../database/database.ts';

interface InstallationRow {
  readonly id: string;
  readonly same: boolean;
}

/**
 * The id of this installation, part of every workflow id and task queue.
 *
 * @throws OutboxError `OUTBOX_INSTALLATION_MOVED` when the database is a copy (dump and restore, logical upgrade):
 * its cursors belong to the transactions of another cluster, and delivering from them could lose or repeat messages.
 */
export async function readInstallation(sql: Sql): Promise<string> {
  const [row] = await sql.query<InstallationRow>(
    `select id, system_identifier = (select system_identifier::text from pg_control_system())
       and database_oid = (select oid from pg_database where datname = current_database()) as same
     from outbox.installation`,
  );
  if (row?.same) return row.id;
  throw new OutboxError(
    'OUTBOX_INSTALLATION_MOVED',
    'This database is a copy: it was installed in another cluster or under another database.',
    { details: { installation: row?.id ?? null } },
  );
}
