import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';
import { storableJson } from '../database/storable-text.ts';
import { writeOwnRow } from './lane-row.ts';

/**
 * Length of a lease, also known to `outbox.lane_taken`. It is renewed long before its end. A frozen owner loses its lane after
 * this time; an owner whose process has ended, as soon as its session is gone.
 */
export const leaseMs = 10_000;

/** Milliseconds since the hold of the lane `l` began; 0 without one. */
const heldMs = `greatest(0, extract(epoch from clock_timestamp() - (l.hold ->> 'since')::timestamptz) * 1000)::float8`;

/** How far a lane is with late rows that are more than one batch. */
export interface LateProgress {
  /** Position up to which they are published, as far as `snapshot` saw them. */
  readonly cursor: string;
  readonly snapshot: string;
}

/** A lane as its new owner finds it. */
export interface AcquiredLane {
  /** Position up to which ready rows are published, as far as `snapshot` saw them. */
  readonly cursor: string;
  readonly snapshot: string | null;
  /** @defaultValue there are none */
  readonly late?: LateProgress | undefined;
  /** Rows visible in this snapshot may have been published by an owner that died. */
  readonly suspect: string | null;
  /** True if the previous owner has not freed the lane, or a failover may have lost the record of an owner. */
  readonly lapsed: boolean;
  /** True if failures were settled that are not reported yet. */
  readonly untold: boolean;
  /** The hold of an earlier owner, which this one continues; `null`: none. */
  readonly hold: Pick<LaneHold, 'scope' | 'reason'> | null;
  /** Milliseconds since that hold began; 0 without one. */
  readonly heldMs: number;
}

/** What an owner says of itself when it takes or renews a lane. */
export interface Ownership {
  /** The advisory lock of its process's session. @defaultValue none: only the lease shows that it lives */
  readonly session?: string | undefined;
  /** It drains in place of the lane's workflow, which stays wanted until it drains the lane itself. @defaultValue false */
  readonly standIn?: boolean;
}

/**
 * Takes the lane if it has no owner.
 *
 * @returns `undefined`: the lane has an owner, its row is locked, or it does not exist
 */
export async function acquireLane(
  sql: Sql,
  { topic, lane }: Lane,
  owner: string,
  { session, standIn = false }: Ownership = {},
): Promise<AcquiredLane | undefined> {
  const [row] = await sql.query<Omit<AcquiredLane, 'late'> & { readonly late: LateProgress | null }>(
    `with before as materialized (
       select l.owner, l.incarnation, outbox.lane_taken(l) as taken from outbox.lane l
       where topic = $1 and n = $2 for update skip locked
     )
     update outbox.lane l
     set owner = $3, alive_until = clock_timestamp() + $4 * interval '1 ms',
       wanted_since = case when $6 then l.wanted_since end,
       incarnation = outbox.incarnation(), session = case when outbox.session_lives($5) then $5::bigint end
     from before b
     where l.topic = $1 and l.n = $2 and (b.owner = $3 or not b.taken)
     returning l.cursor, l.snapshot::text, l.suspect::text,
       case when l.late_cursor is not null then json_build_object('cursor', l.late_cursor::text, 'snapshot', l.late_snapshot::text) end as late,
       -- Also after a restart: a failover may have lost the record of a later owner.
       (b.owner <> $3 or b.incarnation <> outbox.incarnation()) is true as lapsed,
       l.untold_from is not null as untold, l.hold, ${heldMs} as "heldMs"`,
    [topic, lane, owner, leaseMs, session ?? null, standIn],
  );
  return row && { ...row, late: row.late ?? undefined };
}

/** Renews the lease, and ties the lane to this session. @returns false if the lane has another owner now */
export async function renewLease(
  sql: Sql,
  lane: Lane,
  owner: string,
  { session, standIn = false }: Ownership = {},
): Promise<boolean> {
  return writeOwnRow(lane, owner, (where, values) =>
    sql.query(
      `update outbox.lane l set alive_until = clock_timestamp() + $5 * interval '1 ms',
         wanted_since = case when $7 then l.wanted_since end,
         session = case when outbox.session_lives($6) then $6::bigint end
       where ${where} returning l.ctid::text as ctid`,
      [...values, leaseMs, session ?? null, standIn],
    ),
  );
}

/**
 * Frees the lane for the next owner. If it is quiet, no row that a dead owner may have published is left, and the next start
 * need not wait for the pause between starts.
 *
 * @param held the lane is still on hold, which the next owner continues
 */
export async function freeLease(
  sql: Sql,
  { topic, lane }: Lane,
  owner: string,
  quiet: boolean,
  held = false,
): Promise<void> {
  await sql.query(
    `update outbox.lane l set owner = null, alive_until = null, session = null, hold = case when $5 then hold end,
       suspect = case when $4 then null else suspect end, started_at = case when $4 then null else started_at end
     where topic = $1 and n = $2 and outbox.lane_owned(l, $3)`,
    [topic, lane, owner, quiet, held],
  );
}

/**
 * Gives the lane up as if its owner had died: the next one takes it at once, and treats the rows that this one could see as
 * suspect. For ends after which it is unknown what the broker has.
 */
export async function abandonLease(sql: Sql, { topic, lane }: Lane, owner: string): Promise<void> {
  await sql.query(
    `update outbox.lane set alive_until = '-infinity' where topic = $1 and n = $2 and owner = $3`,
    [topic, lane, owner],
  );
}

/**
 * Remembers, beyond this owner, that everything visible now may have been published by the owner before it. The statement that
 * writes it also takes the snapshot, because a query of its own may be answered by a standby, which has not seen what the dead
 * owner sent last.
 *
 * @returns the snapshot; `undefined`: fenced
 */
export async function markSuspect(sql: Sql, lane: Lane, owner: string): Promise<string | undefined> {
  let suspect: string | undefined;
  await writeOwnRow(lane, owner, async (where, values) => {
    const rows = await sql.query<{ ctid: string; suspect: string }>(
      `update outbox.lane l set suspect = pg_current_snapshot() where ${where}
       returning l.ctid::text as ctid, l.suspect::text as suspect`,
      values,
    );
    suspect = rows[0]?.suspect;
    return rows;
  });
  return suspect;
}

/**
 * Takes a lane that nobody has, for an operation that claims nothing. What a dead owner may have published is marked.
 *
 * @returns false if it has another owner
 */
export async function takeLane(sql: Sql, lane: Lane, owner: string): Promise<boolean> {
  const acquired = await acquireLane(sql, lane, owner);
  if (acquired === undefined) return false;
  if (!acquired.lapsed) return true;
  try {
    return (await markSuspect(sql, lane, owner)) !== undefined;
  } catch (error) {
    // Without the mark, the next owner must see that the lane was not freed cleanly.
    await abandonLease(sql, lane, owner);
    throw error;
  }
}

/** Why a lane waits, for operators. */
export interface LaneHold {
  /** What cannot be used: the address of the `topic`, its whole `transport`, or the database that must `settle` a batch. */
  readonly scope: 'topic' | 'transport' | 'settle';
  /** Text of the error that began it. */
  readonly reason: string;
  /** When the hold began, on the database's clock; it goes on when the lane changes its owner. */
  readonly since: Date;
}

/** A hold as stored in the row of its lane, in JSON. */
export type StoredHold = Omit<LaneHold, 'since'> & { readonly since: string };

export function holdOf(stored: StoredHold | null): LaneHold | null {
  return stored === null ? null : { ...stored, since: new Date(stored.since) };
}

/**
 * Shows, or with `undefined` ends, the hold of a lane. One that is shown already goes on, whoever began it, and gets this reason.
 *
 * @returns milliseconds since it began; 0 if the row is locked: it is not worth waiting just to record why the lane waits
 */
export async function writeHold(
  sql: Sql,
  { topic, lane }: Lane,
  owner: string,
  hold: Omit<LaneHold, 'since'> | undefined,
): Promise<number> {
  const [row] = await sql.query<{ heldMs: number }>(
    `update outbox.lane l set hold = $4::jsonb || jsonb_build_object('since', coalesce(l.hold -> 'since', to_jsonb(clock_timestamp())))
     from (select topic, n from outbox.lane where topic = $1 and n = $2 and owner = $3 for update skip locked) own
     where l.topic = own.topic and l.n = own.n returning ${heldMs} as "heldMs"`,
    [topic, lane, owner, hold === undefined ? null : storableJson(hold)],
  );
  return row?.heldMs ?? 0;
}
