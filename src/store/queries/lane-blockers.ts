import type { Sql } from '../database.ts';

/** A transaction that has rows of lanes locked, and keeps relays from them. */
export interface LaneBlocker {
  readonly pid: number;
  /** Names the transaction for as long as it is open. */
  readonly transaction: string;
  /** Empty where this user may not see it. */
  readonly application: string;
}

/** Who has rows of lanes locked at this moment. Relays do so for milliseconds. */
export async function readLaneBlockers(sql: Sql): Promise<readonly LaneBlocker[]> {
  return sql.query<LaneBlocker>(
    `select distinct k.pid, k.virtualtransaction as transaction, coalesce(a.application_name, '') as application
     from pg_locks k left join pg_stat_activity a on a.pid = k.pid
     where k.locktype = 'relation' and k.granted and k.relation = 'outbox.lane'::regclass
       and k.database = (select oid from pg_database where datname = current_database())
       and k.mode in ('RowShareLock', 'RowExclusiveLock') and k.pid <> pg_backend_pid()
     order by 1`,
  );
}
