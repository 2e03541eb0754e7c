import { OutboxError } from '../../core/errors.ts';
import { writeAudit } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';
import { type LastHandled, readLastHandled } from '../inbox/last-handled.ts';
import { followTables } from '../retention/leaf.ts';
import { raiseSequences } from './adopt-sequences.ts';
import { rowsOfAnotherCluster } from './installation.ts';

/** The result of an adoption. */
export interface Adoption {
  /** False: the database was not moved, and nothing was written. */
  readonly adopted: boolean;
  /** The id of the installation from now on. */
  readonly installation: string;
  /** Messages that their lane had passed, now marked as published. */
  readonly settled: number;
  /** Ready messages that will be delivered. */
  readonly ready: number;
  /** Messages whose own workflow will be started again. */
  readonly waiting: number;
  /**
   * Consumer groups whose inbox is in this database. Their brokers may have passed what this database does not know: set them back with
   * `inbox rewind`.
   */
  readonly groups: readonly LastHandled[];
}

/**
 * Adapts an outbox that was copied to this cluster by a dump and restore, by logical replication, or by a logical upgrade.
 *
 * Snapshots and transaction ids belong to one cluster. The old ones are used a last time, to mark what was published; then
 * every row gets a transaction id of this cluster, and every lane starts over. One transaction, during which nothing else may
 * read or write messages; it takes about as long as rewriting `outbox.message`, and moving there all that the log has
 * published.
 *
 * @param newInstallation true for a copy whose original stays in use: another id, and other workflow ids
 * @throws OutboxError `OUTBOX_STILL_DELIVERING` while a relay owns a lane of a database that was not moved
 */
export async function adoptDatabase(
  database: Database,
  newInstallation: boolean,
  actor: string,
): Promise<Adoption> {
  return database.transaction(async (sql) => {
    await sql.query('lock table outbox.installation, outbox.topic, outbox.lane, outbox.message');
    const { id, moved, delivering } = await readAdoptable(sql);
    if (!moved && !newInstallation)
      return { adopted: false, installation: id, settled: 0, ready: 0, waiting: 0, groups: [] };
    // Leases of a moved database are copies: its relays refuse to start.
    if (!moved && delivering) {
      throw new OutboxError('OUTBOX_STILL_DELIVERING', 'A relay still delivers from this database.');
    }
    // Before the lanes are reset: their cursors show how far positions had come.
    await raiseSequences(sql);
    await takeOutPassed(sql);
    const settled = await settlePassed(sql);
    const ready = await renewReady(sql);
    await renewOthers(sql);
    await restartLanes(sql);
    const installation = newInstallation ? await renameInstallation(sql, id) : id;
    await renewLog(sql);
    await renewInbox(sql);
    const waiting = await forgetAllTold(sql);
    await forgetFollowed(sql, newInstallation);
    await writeIdentity(sql);
    await writeAudit(sql, [
      { actor, action: 'adopt', messageId: null, result: 'done', details: { installation, settled, ready } },
    ]);
    // The groups of a copy whose original stays in use receive from other brokers.
    const groups = newInstallation ? [] : await readLastHandled(sql);
    return { adopted: true, installation, settled, ready, waiting, groups };
  });
}

interface Adoptable {
  readonly id: string;
  /** True if the cluster or the database is not the one of the installation. */
  readonly moved: boolean;
  readonly delivering: boolean;
}

async function readAdoptable(sql: Sql): Promise<Adoptable> {
  const [row] = await sql.query<Adoptable>(
    `select id, (system_identifier, database_oid) is distinct from (
         (select c.system_identifier::text from pg_control_system() c),
         (select oid from pg_database where datname = current_database())) or ${rowsOfAnotherCluster} as moved,
       exists (select from outbox.lane l where outbox.lane_taken(l)) as delivering
     from outbox.installation`,
  );
  if (row === undefined) throw new Error('The installation has lost its row.');
  return row;
}

const isPassed = `l.topic = m.topic and l.n = m.lane and m.state = 'ready'
       and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)`;

/**
 * Moves passed messages out of the log: there a message is ready, and published by its lane alone, which starts over. Like outbox.take_out,
 * but for any number of messages.
 */
async function takeOutPassed(sql: Sql): Promise<void> {
  for (const parent of ['log', 'log_passed']) {
    await sql.query(
      `with gone as (delete from outbox.${parent} m using outbox.lane l where ${isPassed} returning m.*)
       insert into outbox.message (id, topic, lane, position, xid, key, payload, headers, state, workflow_id, maybe_published, created_at,
         updated_at, expunged_at)
       select g.id, g.topic, g.lane, g.position, g.xid, g.key, g.payload, g.headers, g.state, outbox.lane_workflow_id(g.topic, g.lane),
         g.maybe_published, g.created_at, g.updated_at, g.expunged_at
       from gone g
       on conflict (id) do nothing`,
    );
  }
}

/** Marks passed rows as published, with what their batches say. */
async function settlePassed(sql: Sql): Promise<number> {
  return changedBy(
    sql,
    `update outbox.message m set state = 'published', updated_at = outbox.clock(), xid = pg_current_xact_id(),
       (published_at, partition, "offset") = (
         select coalesce(m.published_at, b.published_at), coalesce(m.partition, b.partition), coalesce(m."offset", b."offset")
         from outbox.batch_facts(m.topic, m.lane, m.position) b)
     from outbox.lane l
     where ${isPassed}`,
  );
}

/** Messages that an owner had in hand when the copy was made may have been published; so may suspect ones. */
async function renewReady(sql: Sql): Promise<number> {
  await sql.query(
    `update outbox.message m set maybe_published = true
     from outbox.lane l
     where l.topic = m.topic and l.n = m.lane and m.state = 'ready' and not m.maybe_published
       and (l.owner is not null or pg_visible_in_snapshot(m.xid, l.suspect))`,
  );
  return changedBy(sql, `update outbox.message set xid = pg_current_xact_id() where state = 'ready'`);
}

/** Replaces transaction ids that this cluster has not reached yet: every look of a relay would find these rows as news. */
async function renewOthers(sql: Sql): Promise<void> {
  await sql.query(
    `update outbox.message set xid = pg_current_xact_id() where state <> 'ready' and xid > pg_current_xact_id()`,
  );
}

async function restartLanes(sql: Sql): Promise<void> {
  await sql.query(
    `update outbox.lane set cursor = 0, snapshot = null, late_cursor = null, late_snapshot = null, suspect = null, freed_snapshot = null,
       blocking_xid = pg_current_xact_id(), failed_xid = pg_current_xact_id(),
       owner = null, alive_until = null, session = null, incarnation = null, wanted_since = null, started_at = null, hold = null`,
  );
}

/** Changes the id of the installation, also in every workflow id that may still be started. */
async function renameInstallation(sql: Sql, before: string): Promise<string> {
  const [row] = await sql.query<{ id: string }>(
    'update outbox.installation set id = gen_random_uuid(), created_at = now() returning id',
  );
  if (row === undefined) throw new Error('The installation has lost its row.');
  await sql.query(
    `update outbox.message set workflow_id = $2 || substr(workflow_id, length($1) + 1) where starts_with(workflow_id, $1)`,
    [before, row.id],
  );
  return row.id;
}

/** It is unknown whether the previous workflows exist here; starting them again does no harm. */
async function forgetAllTold(sql: Sql): Promise<number> {
  return changedBy(
    sql,
    `update only outbox.message set workflow_due_at = null
     where state in ('waiting', 'retrying') and workflow_id = outbox.message_workflow_id(id)`,
  );
}

/** Nor whether it has the schedules of this installation. Those of a new one begin now: the times before are the original's. */
async function forgetFollowed(sql: Sql, isNew: boolean): Promise<void> {
  await sql.query(
    'update outbox.schedule set followed_version = null, holds_since = case when $1::boolean then outbox.clock() else holds_since end',
    [isNew],
  );
}

/**
 * Creates leaves that the copy lacks, because replication copies their rows in `outbox.leaf` and not their tables, has the rows say what is
 * true of the tables here, and makes the functions that name the current leaf and the installation. Until then the old functions store in a
 * leaf whose row may say that it is archived.
 */
async function renewLog(sql: Sql): Promise<void> {
  await sql.query('select outbox.create_leaf(n) from outbox.leaf');
  await followTables(sql);
  await sql.query('select outbox.grant_log(), outbox.write_store()');
}

/** The same for the epochs of processed ids: until then messages that come one at a time are stored in one that may be dropped soon. */
async function renewInbox(sql: Sql): Promise<void> {
  await sql.query('select outbox.follow_epochs()');
}

async function writeIdentity(sql: Sql): Promise<void> {
  await sql.query(
    `update outbox.installation set served_since = null, twin = null, system_identifier = (select c.system_identifier::text from pg_control_system() c),
       database_oid = (select oid from pg_database where datname = current_database())`,
  );
}

async function changedBy(sql: Sql, statement: string): Promise<number> {
  const [row] = await sql.query<{ count: number }>(
    `with changed as (${statement} returning 1) select count(*)::integer as count from changed`,
  );
  return row?.count ?? 0;
}
