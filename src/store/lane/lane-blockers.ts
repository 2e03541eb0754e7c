import type { Sql } from '../database/database.ts';

/** A transaction that holds locks on lane rows, and so blocks relays. */
export interface LaneBlocker {
  readonly pid: number;
  /** Identifies the transaction while it is open. */
  readonly transaction: string;
  /** Its `application_name`; empty if not set. */
  readonly application: string;
  /** As in `pg_stat_activity`; `null` if this user may not see it: other users' states require `pg_read_all_stats`. */
  readonly state: string | null;
  /** When the transaction began; `null` as above. */
  readonly since: Date | null;
  readonly openMs: number | null;
  /** What it has locked: rows, all rows (`table`), or the table even against reads (`reads`). */
  readonly extent: 'rows' | 'table' | 'reads';
}

/** The transaction as the subject of a sentence. */
export function blockerInWords({ application, pid }: Pick<LaneBlocker, 'application' | 'pid'>): string {
  const process = `Process ${pid} of the server`;
  return application === '' ? process : `${process} ("${application}")`;
}

/** A lane, and the transaction that has locked its row. */
export interface LockedLane {
  readonly topic: string;
  readonly lane: number;
  readonly transaction: string;
}

/**
 * Transactions that hold locks on lane rows at the moment. Relays hold them for milliseconds. The query takes no lock and does
 * not touch the table, so it never waits.
 */
export async function readLaneBlockers(sql: Sql): Promise<readonly LaneBlocker[]> {
  return sql.query<LaneBlocker>(
    `select k.pid, k.virtualtransaction as transaction, coalesce(a.application_name, '') as application, a.state,
       a.xact_start as since, (extract(epoch from clock_timestamp() - a.xact_start) * 1000)::float8 as "openMs",
       case when bool_or(k.mode = 'AccessExclusiveLock') then 'reads'
         when bool_or(k.mode not in ('RowShareLock', 'RowExclusiveLock')) then 'table' else 'rows' end as extent
     from pg_locks k left join pg_stat_activity a on a.pid = k.pid
     where k.locktype = 'relation' and k.granted and k.relation = 'outbox.lane'::regclass
       and k.database = (select oid from pg_database where datname = current_database())
       and k.mode in ('RowShareLock', 'RowExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
         'AccessExclusiveLock')
       and k.pid <> pg_backend_pid()
     group by k.pid, k.virtualtransaction, a.application_name, a.state, a.xact_start order by 1`,
  );
}

/**
 * The lanes whose rows these transactions have locked: a locked row contains the id of its transaction. If several
 * transactions share the lock, or it was taken in savepoints, the id is missing, and so is the lane.
 */
export async function readLockedLanes(
  sql: Sql,
  blockers: readonly Pick<LaneBlocker, 'transaction'>[],
): Promise<readonly LockedLane[]> {
  return sql.query<LockedLane>(
    `select l.topic, l.n as lane, k.virtualtransaction as transaction
     from outbox.lane l join pg_locks k on k.transactionid = l.xmax
     where k.locktype = 'transactionid' and k.granted and k.virtualtransaction = any($1::text[]) order by 1, 2`,
    [blockers.map(({ transaction }) => transaction)],
  );
}
