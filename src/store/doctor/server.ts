import type { Sql } from '../database/database.ts';

/** What a PostgreSQL server says about itself and its durability. */
export interface ServerFacts {
  /** For people, for example `18.4`. */
  readonly version: string;
  /** The major version. */
  readonly major: number;
  /** True for a standby, and where transactions are read-only by default. */
  readonly readOnly: boolean;
  readonly fsync: string;
  readonly fullPageWrites: string;
  /** As this role has it. */
  readonly synchronousCommit: string;
  /** Roles and databases with a `synchronous_commit` of their own that is `off`. */
  readonly asynchronousRoles: readonly string[];
  /** Empty: commits wait for no standby. */
  readonly synchronousStandbys: string;
  readonly autovacuum: string;
  readonly walWriterDelayMs: number;
}

/** Needs no privileges. */
export async function readServerFacts(sql: Sql): Promise<ServerFacts> {
  const [row] = await sql.query<ServerFacts>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::integer / 10000 as major,
       pg_is_in_recovery() or current_setting('default_transaction_read_only') = 'on' as "readOnly",
       current_setting('fsync') as fsync, current_setting('full_page_writes') as "fullPageWrites",
       current_setting('synchronous_commit') as "synchronousCommit",
       current_setting('synchronous_standby_names') as "synchronousStandbys", current_setting('autovacuum') as autovacuum,
       (select setting::float8 from pg_settings where name = 'wal_writer_delay') as "walWriterDelayMs",
       array(select concat_ws(' in ', coalesce(r.rolname, 'every role'), d.datname)
         from pg_db_role_setting s left join pg_roles r on r.oid = s.setrole left join pg_database d on d.oid = s.setdatabase
         where s.setconfig && array['synchronous_commit=off', 'synchronous_commit=0', 'synchronous_commit=false']
           and (d.datname is null or d.datname = current_database()) order by 1) as "asynchronousRoles"`,
  );
  if (row === undefined) throw new Error('A server describes itself in one row.');
  return row;
}

/** Milliseconds since 1970 by the clock of the server. */
export async function readServerClock(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ now: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
  );
  return row?.now ?? Number.NaN;
}

/**
 * How far the clock of this host is ahead of the server's at least, in milliseconds: when the server looked at its clock between
 * question and answer is unknown, so an answer that comes late, as from a busy host, is no difference.
 */
export async function readClockOffset(sql: Sql): Promise<number> {
  const before = Date.now();
  const server = await readServerClock(sql);
  const atLeast = before - server;
  return atLeast > 0 ? atLeast : Math.min(0, Date.now() - server);
}
