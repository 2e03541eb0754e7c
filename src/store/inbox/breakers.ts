import type { Sql } from '../database/database.ts';
import { storableText } from '../database/storable-text.ts';

/** An address that the breaker of a consumer pauses, as that consumer last reported. */
export interface BreakerStatus {
  /** Name of the consumer group. */
  readonly group: string;
  /** Where its messages arrive: a Kafka topic. */
  readonly address: string;
  /** Host of the consumer; each consumer of a group has a breaker of its own. */
  readonly host: string;
  /** Process id of the consumer on its host. */
  readonly pid: number;
  /** When the pause began, on the database's clock. */
  readonly pausedAt: Date;
  /** Milliseconds since then. */
  readonly pausedMs: number;
  /** How many of `keys` had failed when the pause began. */
  readonly failedKeys: number;
  /** Number of keys that were considered when the pause began. */
  readonly keys: number;
  /** How many probes have failed since; each is a message of another key. */
  readonly probes: number;
  /** 0: it probes now. The first probe that succeeds ends the pause. */
  readonly nextProbeInMs: number;
  /** The error of the last message that failed, without values of its payload; at most 400 characters. */
  readonly error: string;
  /** Milliseconds since the consumer reported this. */
  readonly seenMs: number;
}

/** The consumer that reports. */
export interface BreakerOwner extends Pick<BreakerStatus, 'group' | 'host' | 'pid'> {
  /** UUID of this run of the consumer. */
  readonly consumer: string;
}

/** What the owner reports of an address; times are given as durations, because clocks differ. */
export type PausedByBreaker = Pick<
  BreakerStatus,
  'address' | 'pausedMs' | 'failedKeys' | 'keys' | 'probes' | 'nextProbeInMs' | 'error'
>;

/** A consumer with paused addresses repeats its report at this interval. */
export const breakerBeatMs = 2_000;
/** A report that is older is no longer true: its consumer has died, or is frozen. */
const staleMs = 6_000;
/** Rows of dead consumers are deleted after this time, by others that write. */
const keptMs = 60 * 60_000;

/**
 * Stores which addresses the owner pauses, and that it pauses no others.
 *
 * The rows need not survive a crash of the database: reports are repeated.
 */
export async function writeBreakers(
  sql: Sql,
  { group, consumer, host, pid }: BreakerOwner,
  paused: readonly PausedByBreaker[],
): Promise<void> {
  const rows = paused.map((one) => ({ ...one, error: storableText(one.error) }));
  await sql.query(
    `with limited as materialized (select set_config('synchronous_commit', 'off', true), outbox.limit_idle()),
     paused as materialized (
       select * from jsonb_to_recordset($5::jsonb) as p (address text, "pausedMs" float8, "failedKeys" integer, keys integer,
         probes integer, "nextProbeInMs" float8, error text)
     ), gone as (
       delete from outbox.breaker b using limited
       where b.consumer_group = $1 and b.consumer = $2::uuid and not exists (select from paused p where p.address = b.address)
         or b.consumer <> $2::uuid and b.seen_at < clock_timestamp() - $6::float8 * interval '1 ms'
     )
     insert into outbox.breaker (consumer_group, address, consumer, host, pid, paused_at, failed_keys, keys, probes,
       next_probe_at, error)
     select $1, p.address, $2::uuid, $3, $4::integer, clock_timestamp() - p."pausedMs" * interval '1 ms', p."failedKeys", p.keys,
       p.probes, clock_timestamp() + p."nextProbeInMs" * interval '1 ms', p.error
     from paused p, limited
     on conflict (consumer_group, address, consumer) do update set paused_at = excluded.paused_at,
       failed_keys = excluded.failed_keys, keys = excluded.keys, probes = excluded.probes,
       next_probe_at = excluded.next_probe_at, error = excluded.error, seen_at = excluded.seen_at`,
    [group, consumer, host, pid, JSON.stringify(rows), keptMs],
  );
}

/** Addresses that the breakers of all running consumers pause, longest pause first. */
export async function readBreakers(sql: Sql): Promise<readonly BreakerStatus[]> {
  return sql.query<BreakerStatus>(
    `select b.consumer_group as "group", b.address, b.host, b.pid, b.paused_at as "pausedAt",
       greatest(0, extract(epoch from t.now - b.paused_at) * 1000)::float8 as "pausedMs", b.failed_keys as "failedKeys", b.keys,
       b.probes, greatest(0, extract(epoch from b.next_probe_at - t.now) * 1000)::float8 as "nextProbeInMs", b.error,
       greatest(0, t.silent)::float8 as "seenMs"
     from outbox.breaker b cross join lateral (
       select c.now, extract(epoch from c.now - b.seen_at) * 1000 as silent from clock_timestamp() c (now)) t
     -- A time in the future was written before the clock was set back.
     where abs(t.silent) < $1::float8
     order by b.paused_at, 1, 2, b.consumer limit 1000`,
    [staleMs],
  );
}
