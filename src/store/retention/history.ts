import type { Database, Sql } from '../database/database.ts';
import { inBriefLock } from './brief-lock.ts';

/** A month of the history. */
interface Partition {
  readonly name: string;
  /** ISO time at which the month ends. */
  readonly until: string;
}

/**
 * Creates missing partitions of this month and the next. Several relays may do so concurrently.
 *
 * Unlike creating a partition in place, attaching a finished table does not block readers and writers of the history.
 */
export async function makePartitions(database: Database): Promise<void> {
  const missing = await database.query<{ name: string; from: string; until: string }>(
    `select 'message_history_' || to_char(month at time zone 'UTC', 'YYYY_MM') as name, month::text as from,
       ((month at time zone 'UTC' + interval '1 month') at time zone 'UTC')::text as until
     from (select (date_trunc('month', outbox.clock() at time zone 'UTC') + n * interval '1 month') at time zone 'UTC' as month
       from generate_series(0, 1) n) m
     where to_regclass('outbox.message_history_' || to_char(month at time zone 'UTC', 'YYYY_MM')) is null`,
  );
  for (const { name, from, until } of missing) await makePartition(database, name, from, until);
}

async function makePartition(database: Database, name: string, from: string, until: string): Promise<void> {
  await database.transaction(async (sql) => {
    // One creator at a time; the others then find the partition.
    await sql.query(`select pg_advisory_xact_lock(hashtext('outbox.message_history'))`);
    // Queries the catalog itself: to_regclass may answer from a cache that is older than the wait for the lock.
    const there = await sql.query(
      `select from pg_class where relnamespace = 'outbox'::regnamespace and relname = $1`,
      [name],
    );
    if (there.length > 0) return;
    await sql.query(`create table outbox.${name} (like outbox.message_history including all)`);
    // A trigger of the database may have switched it on, as for every new table.
    await sql.query(`alter table outbox.${name} disable row level security`);
    await sql.query(
      `alter table outbox.message_history attach partition outbox.${name}
         for values from (${literal(from)}) to (${literal(until)})`,
    );
  });
}

/** Values that the database itself has computed; DDL takes no parameters. */
function literal(time: string): string {
  return `'${time.replaceAll("'", "''")}'`;
}

/** Months of the history that ended longer ago than `historyMs`, the oldest first. */
async function readExpired(sql: Sql, historyMs: number): Promise<readonly Partition[]> {
  return sql.query<Partition>(
    `select name, until::text as until from (
       select c.relname as name,
         (regexp_match(pg_get_expr(c.relpartbound, c.oid), $$TO \\('([^']+)'\\)$$))[1]::timestamptz as until
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'outbox.message_history'::regclass) p
     where until <= outbox.clock() - $1 * interval '1 ms' order by until`,
    [historyMs],
  );
}

/**
 * Drops the months of the history whose newest message was archived longer ago than `historyMs`. Each drop waits briefly for
 * its lock, a few times; if it does not get it, the month is left to the next run.
 *
 * @returns how many were dropped, and how many others were in use
 */
export async function dropExpired(
  database: Database,
  historyMs: number,
): Promise<{ readonly dropped: number; readonly inUse: number }> {
  let dropped = 0;
  const expired = await readExpired(database, historyMs);
  for (const { name } of expired) {
    const drop = `drop table if exists outbox.${name}`;
    if (await inBriefLock(database, [name, 'message_history'], (sql) => sql.query(drop))) dropped += 1;
  }
  return { dropped, inUse: expired.length - dropped };
}
