import type { Sql } from '../database/database.ts';

/** What keeps vacuum from removing dead rows, or files of the write-ahead log from being recycled. */
export interface VacuumFacts {
  /** True if this role sees the transactions of others. */
  readonly seesOthers: boolean;
  /** Transactions of this database, the oldest first. */
  readonly transactions: readonly OpenTransactionFacts[];
  /** Prepared transactions of this database, the oldest first. */
  readonly prepared: readonly { readonly id: string; readonly openMs: number }[];
  readonly slots: readonly SlotFacts[];
  /** Age of the oldest transaction id of this database, of at most 2^31. */
  readonly frozenAge: number;
  /** Tables of the outbox with dead rows, most first. */
  readonly tables: readonly TableFacts[];
}

/** An open transaction. */
export interface OpenTransactionFacts {
  readonly pid: number;
  readonly application: string;
  readonly role: string;
  readonly state: string;
  readonly openMs: number;
}

/** A replication slot. */
export interface SlotFacts {
  readonly name: string;
  readonly active: boolean;
  /** True if it keeps dead rows, too. */
  readonly pinsRows: boolean;
  /** Write-ahead log that it keeps. */
  readonly keptBytes: number;
  /** `reserved`, `extended`, `unreserved` or `lost`; `null`: it has never been used. */
  readonly walStatus: string | null;
}

/** Rows of a table, as the statistics estimate them. */
export interface TableFacts {
  readonly name: string;
  readonly live: number;
  readonly dead: number;
  /** True if autovacuum leaves this table out. */
  readonly unattended: boolean;
}

/** Other roles' transactions are visible to superusers and members of `pg_read_all_stats` only. Does not wait for locks. */
export async function readVacuumFacts(sql: Sql): Promise<VacuumFacts> {
  const [row] = await sql.query<Pick<VacuumFacts, 'seesOthers' | 'frozenAge'>>(
    `select pg_has_role('pg_read_all_stats', 'usage') as "seesOthers",
       (select age(datfrozenxid) from pg_database where datname = current_database()) as "frozenAge"`,
  );
  return {
    seesOthers: row?.seesOthers ?? false,
    frozenAge: row?.frozenAge ?? 0,
    transactions: await readTransactions(sql),
    prepared: await readPrepared(sql),
    slots: await readSlots(sql),
    tables: await readTables(sql),
  };
}

function readTransactions(sql: Sql): Promise<readonly OpenTransactionFacts[]> {
  return sql.query<OpenTransactionFacts>(
    `select pid, coalesce(application_name, '') as application, usename as role, coalesce(state, 'unknown') as state,
       (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as "openMs"
     from pg_stat_activity where xact_start is not null and datname = current_database() and pid <> pg_backend_pid()
       and backend_type <> 'autovacuum worker'
     order by xact_start limit 100`,
  );
}

function readPrepared(sql: Sql): Promise<VacuumFacts['prepared']> {
  return sql.query<VacuumFacts['prepared'][number]>(
    `select gid as id, (extract(epoch from clock_timestamp() - prepared) * 1000)::float8 as "openMs"
     from pg_prepared_xacts where database = current_database() order by prepared limit 100`,
  );
}

function readSlots(sql: Sql): Promise<readonly SlotFacts[]> {
  return sql.query<SlotFacts>(
    `select slot_name as name, active, xmin is not null or catalog_xmin is not null as "pinsRows",
       coalesce(case when pg_is_in_recovery() then 0 else pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) end, 0)::float8
         as "keptBytes",
       wal_status as "walStatus"
     from pg_replication_slots order by 4 desc limit 100`,
  );
}

function readTables(sql: Sql): Promise<readonly TableFacts[]> {
  return sql.query<TableFacts>(
    `select s.relname as name, s.n_live_tup::float8 as live, s.n_dead_tup::float8 as dead,
       coalesce('autovacuum_enabled=false' = any (c.reloptions) or 'autovacuum_enabled=off' = any (c.reloptions), false)
         as unattended
     from pg_stat_all_tables s join pg_class c on c.oid = s.relid
     where s.schemaname = 'outbox' order by s.n_dead_tup desc, 1`,
  );
}
