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

/** A row for Temporal to follow. */
export interface ScheduleRow extends WantedSchedule {
  readonly version: string;
  readonly removed: boolean;
}

const followed = `name, cron, every_ms::float8 as "everyMs", time_zone as "timeZone", catch_up_ms::float8 as "catchUpMs", paused, removed, version`;

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

/** Notes that Temporal has followed this version, and the next times that it tells. */
export async function noteFollowed(
  sql: Sql,
  { name, version }: Pick<ScheduleRow, 'name' | 'version'>,
  nextAt: readonly Date[],
): Promise<void> {
  await sql.query(
    `update outbox.schedule set followed_version = version, next_at = $3::text[]::timestamptz[]
     where name = $1::text and version = $2::bigint`,
    [name, version, nextAt.map((at) => at.toISOString())],
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
