import type { CertificateEnd } from '../../core/certificate-end.ts';
import type { Sql } from '../database/database.ts';
import { storableJson } from '../database/storable-text.ts';

/** A server that a relay needs, as that relay last saw it. */
export interface ServerView {
  /** `Temporal`, or the name of a transport. */
  readonly server: string;
  /** `host:port`, several separated by commas; empty if the transport has no address. */
  readonly address: string;
  /** Why it cannot be used; `null`: it answers. */
  readonly error: string | null;
  /** Which addresses it lacks although it answers, as a sentence; absent: none, or it was not asked. Others of it are delivered to. */
  readonly lacks?: string;
}

/** The lag of a consumer group on a topic. */
export interface GroupLag {
  /** Name of the consumer group. */
  readonly group: string;
  /** Name of the topic. */
  readonly topic: string;
  /** Number of messages that it has not committed, over all partitions of the topic. */
  readonly messages: number;
}

/** A relay that runs, or ran until recently. */
export interface RelayStatus {
  /** UUID of this run of the relay. */
  readonly id: string;
  /** Name of its host. */
  readonly host: string;
  /** Process id on that host. */
  readonly pid: number;
  /** When it started, on the database's clock. */
  readonly startedAt: Date;
  /** Milliseconds since it was last seen. */
  readonly seenMs: number;
  /** False: it has not been seen for more than 15 s. */
  readonly alive: boolean;
  /** Temporal and the brokers, as it sees them. */
  readonly servers: readonly ServerView[];
  /** Lags of the consumer groups of this database, as it sees them. */
  readonly lags: readonly GroupLag[];
  /** How far the clock of its host is ahead of the database's, in milliseconds; exact to half of the time of a query. */
  readonly clockOffsetMs: number;
}

/** A relay writes its row every few seconds; one that has not done so for this time has died, or is frozen. */
export const relayStaleMs = 15_000;
/** Rows of dead relays are shown for this time. */
const keptMs = 60 * 60_000;

/** What a relay records of itself. */
interface WrittenRelay
  extends Pick<RelayStatus, 'id' | 'host' | 'pid' | 'servers' | 'lags' | 'clockOffsetMs'> {
  /** Of the servers that it reaches by TLS. @defaultValue none is known */
  readonly certificates?: readonly CertificateEnd[];
}

/** Records that a relay runs and what it sees. Deletes rows of relays that died long ago. */
export async function writeRelay(
  sql: Sql,
  { certificates = [], clockOffsetMs, host, id, lags, pid, servers }: WrittenRelay,
): Promise<void> {
  await sql.query(
    `with gone as (
       delete from outbox.relay where seen_at < clock_timestamp() - $6 * interval '1 ms' and id <> $1
     )
     insert into outbox.relay as r (id, host, pid, servers, lags, certificates, clock_offset_ms)
     values ($1, $2, $3, $4::jsonb, $5::jsonb, $7::jsonb, $8)
     on conflict (id) do update set seen_at = clock_timestamp(), servers = excluded.servers, lags = excluded.lags,
       certificates = excluded.certificates, clock_offset_ms = excluded.clock_offset_ms`,
    [
      id,
      host,
      pid,
      storableJson(servers),
      JSON.stringify(lags),
      keptMs,
      JSON.stringify(certificates),
      clockOffsetMs,
    ],
  );
}

export async function removeRelay(sql: Sql, id: string): Promise<void> {
  await sql.query(`delete from outbox.relay where id = $1`, [id]);
}

/** All known relays, living ones first. */
export async function readRelays(sql: Sql): Promise<readonly RelayStatus[]> {
  return sql.query<RelayStatus>(
    `select r.id, r.host, r.pid, r.started_at as "startedAt", r.servers, r.lags, r.clock_offset_ms as "clockOffsetMs", s.silent as "seenMs", s.silent < $1 as alive
     from outbox.relay r cross join lateral (
       select greatest(0, extract(epoch from clock_timestamp() - r.seen_at) * 1000)::float8 as silent) s
     order by s.silent < $1 desc, r.started_at desc, r.id limit 1000`,
    [relayStaleMs],
  );
}

/** The consumer groups that keep their processed ids in this database; not the row of the retention, for all groups together. */
export async function readGroupNames(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ name: string }>(
    `select consumer_group as name from outbox.consumer_group where consumer_group <> '' order by 1 limit 100`,
  );
  return rows.map(({ name }) => name);
}
