import type { Author } from '../audit/audit.ts';
import type { Database, Sql } from '../database/database.ts';
import { auditChange, ChangeGone, endChange, holdChange, type TopicChange } from './lanes-change.ts';
import { allReplaced } from './lanes-replace.ts';

/**
 * Writes the new number of lanes, and creates the lanes. Lanes above it keep their rows, because their cursors show which of
 * their messages are published.
 *
 * Transactions that began before this commit may still store messages by the old number: see {@link stillRunning}.
 */
export async function switchLanes(database: Database, change: TopicChange, by: Author): Promise<void> {
  const { topic, wanted } = change;
  await database.transaction(async (sql) => {
    await holdChange(sql, change);
    await sql.query('update outbox.topic set lanes = $2, updated_at = now() where name = $1', [
      topic,
      wanted,
    ]);
    await sql.query(
      // What is retrying, blocked or failed comes to these lanes from others.
      `insert into outbox.lane (topic, n) select $1, n from generate_series(0, $2::integer - 1) n
       on conflict (topic, n) do update set blocking_xid = pg_current_xact_id(), failed_xid = pg_current_xact_id()`,
      [topic, wanted],
    );
    await sql.query(`update outbox.topic_change set step = 'switched' where topic = $1`, [topic]);
    await auditChange(sql, change, 'switched', by);
  });
}

/** A transaction of this database. */
export interface OpenTransaction {
  /** Never used twice while the server runs. */
  readonly id: string;
  /** For display. */
  readonly name: string;
}

/**
 * Transactions of this database that are running now, with or without a transaction id of their own.
 *
 * Every transaction locks its virtual id from its beginning to its end, before it reads anything, and every role may read
 * these locks. Workers of autovacuum store no messages and may take hours; they alone act for no user, which every role may see,
 * unlike the kind of a process. Their process ids would prove less: one may belong to a sender a moment later.
 */
export async function runningTransactions(sql: Sql): Promise<readonly OpenTransaction[]> {
  return sql.query<OpenTransaction>(
    `select l.virtualxid as id, 'process ' || l.pid as name
     from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'virtualxid' and l.granted and l.mode = 'ExclusiveLock' and l.pid <> pg_backend_pid()
       and a.datid = (select oid from pg_database where datname = current_database())
       and a.usesysid is not null`,
  );
}

/**
 * Prepared transactions of this database. A transaction appears here before it ceases to be
 * {@link runningTransactions running}; names may be reused, transaction ids are not.
 */
async function preparedTransactions(sql: Sql): Promise<readonly OpenTransaction[]> {
  return sql.query<OpenTransaction>(
    `select transaction::text as id, 'prepared transaction ' || gid as name
     from pg_prepared_xacts where database = current_database()`,
  );
}

/**
 * Transactions that run and may store messages by the old number of lanes: those that ran already when this was first asked after the
 * switch. They are noted in the row of the change, so that later calls wait for none that began since.
 *
 * @throws ChangeGone
 */
export async function stillRunning(
  database: Database,
  change: TopicChange,
): Promise<readonly OpenTransaction[]> {
  return stillOpen(database, change, 'running', await runningTransactions(database));
}

/** As {@link stillRunning}, of prepared transactions. To be asked once none of the others runs: until then one may be prepared. */
export async function stillPrepared(
  database: Database,
  change: TopicChange,
): Promise<readonly OpenTransaction[]> {
  return stillOpen(database, change, 'prepared', await preparedTransactions(database));
}

async function stillOpen(
  sql: Sql,
  { topic, id }: TopicChange,
  column: 'running' | 'prepared',
  open: readonly OpenTransaction[],
): Promise<readonly OpenTransaction[]> {
  const [row] = await sql.query<{ left: readonly string[] }>(
    `with seen as (
       select array(select o.id from unnest($3::text[]) o (id) where c.${column} is null or o.id = any(c.${column})) as left
       from outbox.topic_change c where c.topic = $1 and c.id = $2
     ), noted as (
       update outbox.topic_change c set ${column} = s.left from seen s
       where c.topic = $1 and c.id = $2 and c.${column} is distinct from s.left
     )
     select s.left from seen s`,
    [topic, id, open.map((transaction) => transaction.id)],
  );
  if (row === undefined) throw new ChangeGone(topic);
  const left = new Set(row.left);
  return open.filter((transaction) => left.has(transaction.id));
}

/** Ends a change of lanes if no message is in a wrong lane any more. @returns false if some are, or have not been looked at */
export async function endLanesChange(database: Database, change: TopicChange, by: Author): Promise<boolean> {
  return database.transaction(async (sql) => {
    await holdChange(sql, change);
    if (!(await allReplaced(sql, change))) return false;
    // Whatever may still free a key is in the right lane, and will say so there.
    await sql.query(
      `update outbox.freed_key set lane = outbox.lane_of(key, null, $2), xid = pg_current_xact_id()
       where topic = $1 and lane <> outbox.lane_of(key, null, $2)`,
      [change.topic, change.wanted],
    );
    await shareUntold(sql, change);
    await endChange(sql, change, by);
    return true;
  });
}

/**
 * Which failures are not reported yet is noted by lane, as a range that has those of other lanes, too. Their messages may have moved, so every
 * lane gets the whole range: what was reported is reported once more.
 */
async function shareUntold(sql: Sql, { topic, wanted }: TopicChange): Promise<void> {
  await sql.query(
    `update outbox.lane l
     set untold_from = case when l.n < $2 then u.first end, untold_to = case when l.n < $2 then u.last end
     from (select min(untold_from) as first, max(untold_to) as last from outbox.lane where topic = $1) u
     where l.topic = $1 and u.first is not null`,
    [topic, wanted],
  );
}
