import type { Sql } from '../database/database.ts';

/** A transaction that has rows of lanes locked, and keeps relays from them. */
export interface LaneBlocker {
  readonly pid: number;
  /** Names the transaction for as long as it is open. */
  readonly transaction: string;
  /** Empty where it has not told its name. */
  readonly application: string;
  /** As in `pg_stat_activity`; `null` where this user may not see it, as of other users without `pg_read_all_stats`. */
  readonly state: string | null;
  /** When the transaction began; `null` as above. */
  readonly since: Date | null;
  readonly openMs: number | null;
  /** What it has locked of the table: rows, all rows (`table`), or the table even for those who read (`reads`). */
  readonly extent: 'rows' | 'table' | 'reads';
}

/** Who it is, for people, at the beginning of a sentence. */
export function blockerInWords({ application, pid }: Pick<LaneBlocker, 'application' | 'pid'>): string {
  const process = `Process ${pid} of the server`;
  return application === '' ? process : `${process} ("${application}")`;
}

/** A lane, and the transaction that has its row locked. */
export interface LockedLane {
  readonly topic: string;
  readonly lane: number;
  readonly transaction: string;
}

/**
 * Who has rows of lanes locked at this moment. Relays do so for milliseconds. Asks for no lock, and does not touch the table:
 * the answer comes however it is locked.
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
 * The lanes whose rows these transactions have locked: a locked row names its transaction. Where several share one, or one
 * locked it in parts (savepoints), it names neither, and the lane is missing.
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
