import type { Sql } from '../database/database.ts';

/** Partitions of one address that a consumer owns. */
export interface OwnedPartitions {
  /** Where messages arrive: a Kafka topic, a queue. */
  readonly address: string;
  /** Their numbers, ascending. */
  readonly partitions: readonly number[];
}

/** A consumer of a group that runs, or ran until recently. */
export interface SeenConsumer {
  /** UUID of this run of the consumer. */
  readonly id: string;
  /** Name of the consumer group. */
  readonly group: string;
  /** Name of its host. */
  readonly host: string;
  /** Process id on that host. */
  readonly pid: number;
  /** Version of this package in its process. */
  readonly version: string;
  /** When it started, on the database's clock. */
  readonly startedAt: Date;
  /** Milliseconds since it was last seen. */
  readonly seenMs: number;
  /** False: it has not been seen for more than 15 s. */
  readonly alive: boolean;
  /** What it owns, as it last said; empty while it has not joined its group. */
  readonly partitions: readonly OwnedPartitions[];
}

/** What a consumer says of itself. */
export type OwnPresence = Pick<SeenConsumer, 'id' | 'group' | 'host' | 'pid' | 'version' | 'partitions'>;

/** A consumer repeats its row at this interval. */
export const consumerBeatMs = 5_000;
/** One that has not done so for this time has died, is frozen, or cannot reach the database. */
const staleMs = 15_000;
/** Rows of dead consumers are shown for this time; then others that write delete them. */
const keptMs = 60 * 60_000;

/** Records that a consumer runs and what it owns. The row need not survive a crash of the database: it is repeated. */
export async function writeConsumer(
  sql: Sql,
  { id, group, host, pid, version, partitions }: OwnPresence,
): Promise<void> {
  await sql.query(
    `with limited as materialized (select set_config('synchronous_commit', 'off', true), outbox.limit_idle()),
     gone as (
       delete from outbox.consumer c using limited
       where c.id <> $1::uuid and c.seen_at < clock_timestamp() - $7::float8 * interval '1 ms'
     )
     insert into outbox.consumer (id, consumer_group, host, pid, version, partitions)
     select $1::uuid, $2, $3, $4::integer, $5, $6::jsonb from limited
     on conflict (id) do update set seen_at = clock_timestamp(), partitions = excluded.partitions`,
    [id, group, host, pid, version, JSON.stringify(partitions), keptMs],
  );
}

/** Of a consumer that stops. The row of its group then says when the group was last seen. */
export async function removeConsumer(sql: Sql, id: string): Promise<void> {
  await sql.query(
    `with gone as (delete from outbox.consumer where id = $1::uuid returning consumer_group)
     update outbox.consumer_group g set seen_at = outbox.clock() from gone
     where g.consumer_group = gone.consumer_group and g.seen_at < outbox.clock()`,
    [id],
  );
}

/** How many consumers of each group run. */
export async function countConsumers(sql: Sql): Promise<ReadonlyMap<string, number>> {
  const rows = await sql.query<{ group: string; count: number }>(
    `select c.consumer_group as "group", count(*)::integer as count from outbox.consumer c
     where c.seen_at > clock_timestamp() - $1::float8 * interval '1 ms' group by 1`,
    [staleMs],
  );
  return new Map(rows.map(({ group, count }) => [group, count]));
}

/** Consumers of all groups: by group, living ones first. */
export async function readConsumers(sql: Sql): Promise<readonly SeenConsumer[]> {
  return sql.query<SeenConsumer>(
    `select c.id, c.consumer_group as "group", c.host, c.pid, c.version, c.started_at as "startedAt", c.partitions,
       s.silent as "seenMs", s.silent < $1 as alive
     from outbox.consumer c cross join lateral (
       select greatest(0, extract(epoch from clock_timestamp() - c.seen_at) * 1000)::float8 as silent) s
     order by c.consumer_group, s.silent < $1 desc, c.started_at, c.id limit 1000`,
    [staleMs],
  );
}
