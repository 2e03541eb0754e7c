import type { Lane } from '../core/lane.ts';
import type { Sql } from './database.ts';

/** How long an owner may be silent. The lease is renewed long before; a frozen owner loses its lane after this time. */
export const leaseMs = 10_000;

/** A lane as its new owner finds it. */
export interface AcquiredLane {
  /** Position up to which ready rows are published, as far as `snapshot` saw them. */
  readonly cursor: string;
  readonly snapshot: string | null;
  /** Rows visible in this snapshot may have been published by an owner that died. */
  readonly suspect: string | null;
  /** True when the previous owner's lease ran out instead of being freed. */
  readonly lapsed: boolean;
}

/** Takes the lane if nobody holds a live lease. `undefined`: somebody does, or the lane does not exist. */
export async function acquireLane(
  sql: Sql,
  { topic, lane }: Lane,
  owner: string,
): Promise<AcquiredLane | undefined> {
  const [row] = await sql.query<AcquiredLane>(
    `with before as materialized (
       select owner, alive_until from outbox.lane where topic = $1 and n = $2 for update
     )
     update outbox.lane l
     set owner = $3, alive_until = clock_timestamp() + $4 * interval '1 ms', wanted_since = null, hold = null
     from before b
     where l.topic = $1 and l.n = $2
       and (b.owner is null or b.owner = $3 or b.alive_until < clock_timestamp())
     returning l.cursor, l.snapshot::text, l.suspect::text, (b.owner is not null and b.owner <> $3) as lapsed`,
    [topic, lane, owner, leaseMs],
  );
  return row;
}

/** Prolongs the lease. `false`: the lane belongs to somebody else now. */
export async function renewLease(sql: Sql, { topic, lane }: Lane, owner: string): Promise<boolean> {
  const rows = await sql.query(
    `update outbox.lane set alive_until = clock_timestamp() + $4 * interval '1 ms', wanted_since = null
     where topic = $1 and n = $2 and owner = $3 returning 1`,
    [topic, lane, owner, leaseMs],
  );
  return rows.length > 0;
}

/**
 * Frees the lane for the next owner. After a quiet end nothing that a dead owner may have published is left, and the
 * next start need not wait out the pause between starts.
 */
export async function freeLease(
  sql: Sql,
  { topic, lane }: Lane,
  owner: string,
  quiet: boolean,
): Promise<void> {
  await sql.query(
    `update outbox.lane set owner = null, alive_until = null, hold = null,
       suspect = case when $4 then null else suspect end, started_at = case when $4 then null else started_at end
     where topic = $1 and n = $2 and owner = $3`,
    [topic, lane, owner, quiet],
  );
}

/**
 * Gives the lane up as if its owner had died: the next one takes it at once, and treats what this one could see as
 * maybe published. For ends after which nobody knows what the broker holds.
 */
export async function abandonLease(sql: Sql, { topic, lane }: Lane, owner: string): Promise<void> {
  await sql.query(
    `update outbox.lane set alive_until = '-infinity', hold = null where topic = $1 and n = $2 and owner = $3`,
    [topic, lane, owner],
  );
}

/** Remembers, beyond this owner, what the owner before it may have published. `false`: fenced. */
export async function markSuspect(
  sql: Sql,
  { topic, lane }: Lane,
  owner: string,
  snapshot: string,
): Promise<boolean> {
  const rows = await sql.query(
    `update outbox.lane set suspect = $4::pg_snapshot where topic = $1 and n = $2 and owner = $3 returning 1`,
    [topic, lane, owner, snapshot],
  );
  return rows.length > 0;
}

/** Why a lane waits, for operators. */
export interface LaneHold {
  readonly scope: 'topic' | 'transport' | 'settle';
  readonly reason: string;
  /** ISO time at which the hold began. */
  readonly since: string;
}

/** Shows, or with `undefined` ends, the hold of a lane. */
export async function writeHold(
  sql: Sql,
  { topic, lane }: Lane,
  owner: string,
  hold: LaneHold | undefined,
): Promise<void> {
  await sql.query(`update outbox.lane set hold = $4::jsonb where topic = $1 and n = $2 and owner = $3`, [
    topic,
    lane,
    owner,
    hold === undefined ? null : JSON.stringify(hold),
  ]);
}
