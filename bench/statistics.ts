import type { Database } from '../src/store/database/database.ts';

/** Bytes of the write-ahead log so far. */
export async function walBytes(database: Database): Promise<number> {
  const [row] = await database.query<{ bytes: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`,
  );
  return row?.bytes ?? 0;
}

/**
 * Row versions of messages, in the log and beside it, that updates and deletes have left behind so far. Whether they were vacuumed meanwhile does
 * not matter. Sessions report with a delay, and at their end: those that matter must have ended.
 */
export async function deadVersions(database: Database): Promise<number> {
  await database.query('select pg_stat_force_next_flush()');
  const [row] = await database.query<{ dead: number }>(
    `select sum(n_tup_upd + n_tup_del)::float8 as dead
     from pg_stat_user_tables where schemaname = 'outbox' and relname ~ '^(message|log_[0-9]+)$'`,
  );
  return row?.dead ?? 0;
}
