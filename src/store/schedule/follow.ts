import type { Sql } from '../database/database.ts';

/** A schedule as Temporal is to have it. */
export interface WantedSchedule {
  readonly name: string;
  readonly cron: string | null;
  readonly everyMs: number | null;
  readonly timeZone: string;
  readonly catchUpMs: number;
  readonly paused: boolean;
}

/** What a Temporal that does not have the schedule as it is to be may have missed. */
export interface MissedTimes {
  /** Runs may have been lost with it that had begun a little before it was last seen to have the schedule. */
  readonly missedFrom: Date;
  readonly readAt: Date;
}

/** A row for Temporal to follow. */
export interface ScheduleRow extends WantedSchedule, MissedTimes {
  readonly version: string;
  readonly removed: boolean;
  /** Whether Temporal has had this version. */
  readonly followed: boolean;
}

const followed = `followed_version is not distinct from version as followed, outbox.clock() as "readAt",
  greatest(holds_since, followed_at - interval '1 minute', outbox.clock() - outbox.exact(catch_up_ms * interval '1 ms')) as "missedFrom",
  name, cron, every_ms::float8 as "everyMs", time_zone as "timeZone", catch_up_ms::float8 as "catchUpMs", paused, removed, version`;

/** Schedules that Temporal has not followed since their last change, or all. */
export async function readSchedulesToFollow(
  sql: Sql,
  which: 'changed' | 'all',
): Promise<readonly ScheduleRow[]> {
  return sql.query<ScheduleRow>(
    `select ${followed} from outbox.schedule ${which === 'all' ? '' : 'where followed_version is distinct from version'} order by name`,
  );
}

/** A schedule to compare with Temporal's. */
export interface ComparedSchedule extends ScheduleRow {
  readonly topic: string;
  /** True: its last change is so long ago that Temporal should have it. */
  readonly settled: boolean;
}

/** All schedules, also removed ones. @param graceMs how long relays may take to have Temporal follow a change */
export async function readSchedulesToCompare(
  sql: Sql,
  graceMs: number,
): Promise<readonly ComparedSchedule[]> {
  return sql.query<ComparedSchedule>(
    `select ${followed}, topic, updated_at < outbox.clock() - outbox.exact($1::float8 * interval '1 ms') as settled
     from outbox.schedule order by name`,
    [graceMs],
  );
}

/** Notes that Temporal has followed this version, and the next times that it lists. */
export async function noteFollowed(
  sql: Sql,
  { name, version, readAt }: ScheduleRow,
  nextAt: readonly Date[],
): Promise<void> {
  await sql.query(
    `update outbox.schedule set followed_version = version, followed_at = $4::text::timestamptz, next_at = $3::text[]::timestamptz[]
     where name = $1::text and version = $2::bigint`,
    [name, version, nextAt.map((at) => at.toISOString()), readAt.toISOString()],
  );
}

/**
 * Before Temporal's schedule is repaired: if the process dies between that and the missed times, another one goes on.
 *
 * @returns false if the row has changed
 */
export async function noteUnfollowed(
  sql: Sql,
  { name, version }: Pick<ScheduleRow, 'name' | 'version'>,
): Promise<boolean> {
  const rows = await sql.query(
    `update outbox.schedule set followed_version = null where name = $1::text and version = $2::bigint returning 1 as done`,
    [name, version],
  );
  return rows.length > 0;
}

/** Has relays follow a schedule again, also one that does so now: Temporal may no longer have it. */
export async function followAgain(sql: Sql, name: string): Promise<void> {
  await sql.query(
    `update outbox.schedule set version = version + 1, followed_version = null, updated_at = outbox.clock()
     where name = $1::text and not removed`,
    [name],
  );
}

/** Deletes the row of a removed schedule that Temporal no longer has. */
export async function forgetRemoved(
  sql: Sql,
  { name, version }: Pick<ScheduleRow, 'name' | 'version'>,
): Promise<void> {
  await sql.query('delete from outbox.schedule where name = $1::text and version = $2::bigint and removed', [
    name,
    version,
  ]);
}
