import { chosenId } from '../../core/chosen-id.ts';
import { OutboxError } from '../../core/errors.ts';
import { flagCell, readRows, textCell } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';
import { emptied } from './emptied.ts';

/**
 * A condition on a lane `l`: its snapshot was not taken on this cluster, which has not reached its transactions yet. Never
 * true on the cluster that took it, also after a failover that lost commits: the write-ahead log has them in their order.
 */
export const laneOfAnotherCluster = `greatest(pg_snapshot_xmax(l.snapshot), pg_snapshot_xmax(l.late_snapshot), pg_snapshot_xmax(l.suspect),
    pg_snapshot_xmax(l.freed_snapshot))
  > pg_snapshot_xmax(pg_current_snapshot())`;

/**
 * True if rows were written on another cluster, whatever identifier this one has: a physical copy that logical replication
 * kept up to date has the identifier of its original and lower transaction ids. Snapshots of the original then hide what
 * becomes ready here.
 */
export const rowsOfAnotherCluster = `(exists (select from outbox.lane l where ${laneOfAnotherCluster})
  or coalesce((select m.xid from (select o.position, o.xid from only outbox.message o union all select l.position, l.xid from outbox.log l) m where m.position > 0 order by m.xid desc limit 1)
    >= pg_snapshot_xmax(pg_current_snapshot()), false))`;

/**
 * The id of this installation, part of every workflow id and task queue.
 *
 * @throws OutboxError `OUTBOX_INSTALLATION_MOVED` when the database is a copy (dump and restore, logical replication or
 * upgrade): its cursors belong to the transactions of another cluster, and delivering from them could lose or repeat messages;
 * `OUTBOX_SCHEMA_EMPTIED`; `OUTBOX_ROW_SECURITY_ACTIVE`.
 */
export async function readInstallation(sql: Sql): Promise<string> {
  const rows = await sql.query<object>(
    `select id, system_identifier = (select system_identifier::text from pg_control_system())
       and database_oid = (select oid from pg_database where datname = current_database())
       and not ${rowsOfAnotherCluster} as same
     from outbox.installation`,
  );
  const [row] = readRows(rows, { id: textCell, same: flagCell });
  if (row === undefined) throw await emptied(sql, 'outbox.installation');
  if (row.same) return row.id;
  throw new OutboxError(
    'OUTBOX_INSTALLATION_MOVED',
    'This database is a copy: its rows were written in another cluster, or under another database.',
    { details: { installation: row.id } },
  );
}

/** The id of this installation, also where {@link readInstallation} refuses a copy. */
export async function readInstallationId(sql: Sql): Promise<string> {
  const [row] = await sql.query<{ id: string }>('select id from outbox.installation');
  if (row === undefined) throw await emptied(sql, 'outbox.installation');
  return row.id;
}

/** The ids by which inboxes may know a message of this installation. */
export async function readInboxIds(sql: Sql, id: string): Promise<readonly string[]> {
  return [id, chosenId(await readInstallationId(sql), id)];
}
