import { passCrashPoint } from '../../core/crash-point.ts';
import type { Lane } from '../../core/lane.ts';
import type { Database, Sql } from '../database/database.ts';
import { storableText } from '../database/storable-text.ts';
import { noteBlocked } from '../message/release-blocked.ts';
import { takeOut } from '../message/take-out.ts';
import { ctidOf, noteCtid } from './lane-row.ts';
import { type LateProgress, leaseMs } from './lease.ts';

/** What a settle writes to one row; rows without a change are published by being passed. */
export interface SettledChange {
  readonly id: string;
  /**
   * - `published`: written to the row, because the cursor cannot say it, because its workflow reports it, or because its
   *   topic asks for a receipt, whose timeout begins now.
   * - `ready`: put back, to be claimed again.
   * - `expired`: it was not sent, because its expiry has passed.
   */
  readonly to: 'published' | 'retrying' | 'failed' | 'blocked' | 'ready' | 'expired';
  /** Counts as an attempt, written to `outbox.attempt` with this outcome. */
  readonly attempt?: 'acknowledged' | 'rejected' | 'ambiguous' | 'permanent';
  readonly error?: string;
  /** Delay until the next try, for `retrying`. */
  readonly retryInMs?: number;
  /** The broker may have it: it can no longer be canceled. */
  readonly maybePublished?: boolean;
  readonly partition?: number | null;
  readonly offset?: string | null;
}

/** True for the end of a try that has failed. */
export function isFailure({ attempt }: SettledChange): boolean {
  return attempt !== undefined && attempt !== 'acknowledged';
}

/** First offset and number of messages, by partition. */
export type PartitionRanges = Readonly<Record<string, { readonly first: string; readonly count: number }>>;

export interface Settlement {
  readonly owner: string;
  /** The new cursor and the snapshot that belongs to it. Never below the old cursor. */
  readonly cursor: string;
  readonly snapshot: string | null;
  readonly late?: LateProgress | undefined;
  readonly changes: readonly SettledChange[];
  /** Snapshot of the claim that read the messages of the changes. */
  readonly claimSnapshot: string;
  /** Whether that claim has found no retrying or blocked message of the lane. @defaultValue no */
  readonly unblocked?: boolean;
  /** Whether it has found no failed one. @defaultValue no */
  readonly unfailed?: boolean;
  /**
   * Whether it must outlive a crash of the server once it is answered, or a failover. One that only moves the cursor need not:
   * the batch is sent again. PostgreSQL writes such commits within three times its `wal_writer_delay`, 0.6 s by default.
   */
  readonly durable: boolean;
  /** What was acknowledged; absent if nothing was. */
  readonly batch?: {
    /** UUID; repeated settles with it write the batch once. */
    readonly id: string;
    readonly firstPosition: string;
    readonly lastPosition: string;
    readonly count: number;
    readonly partitions: PartitionRanges;
  };
}

/**
 * Moves the cursor of the lane past a batch and writes its exceptions, all or nothing.
 *
 * May be repeated if its answer was lost.
 *
 * @returns `false` if the lane has another owner: nothing is written.
 */
export async function settle(database: Database, lane: Lane, settlement: Settlement): Promise<boolean> {
  if (settlement.changes.length === 0) return moveCursor(database, lane, settlement);
  return database.transaction(async (sql) => {
    // The lane first: its row lock prevents a new owner from claiming what is being settled here.
    const owned = await moveCursor(sql, lane, settlement);
    passCrashPoint('relay:settling');
    if (!owned) return false;
    await changeMessages(sql, lane, settlement);
    const blocked = settlement.changes.filter(({ to }) => to === 'blocked');
    if (blocked.length > 0)
      await noteBlocked(
        sql,
        lane,
        blocked.map(({ id }) => id),
      );
    return true;
  });
}

async function moveCursor(sql: Sql, lane: Lane, settlement: Settlement): Promise<boolean> {
  const { batch, owner, cursor, durable, late, snapshot, changes, claimSnapshot } = settlement;
  const [row] = await sql.query<{ ctid: string | null }>(
    'select outbox.pass($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)::text as ctid',
    [
      lane.topic,
      lane.lane,
      owner,
      ctidOf(lane),
      cursor,
      snapshot,
      leaseMs,
      batch?.id ?? null,
      batch?.firstPosition ?? null,
      batch?.lastPosition ?? null,
      batch?.count ?? null,
      JSON.stringify(batch?.partitions ?? {}),
      durable,
      late?.cursor ?? null,
      late?.snapshot ?? null,
      changes.some(({ to }) => to === 'retrying' || to === 'blocked'),
      settlement.unblocked ? claimSnapshot : null,
      changes.some(({ to }) => to === 'failed'),
      settlement.unfailed ? claimSnapshot : null,
    ],
    'repeated',
  );
  return noteCtid(lane, row?.ctid);
}

/** What is still in the log moves out of it first, and is changed then. */
async function changeMessages(sql: Sql, lane: Lane, { changes, claimSnapshot }: Settlement): Promise<void> {
  const changed = await applyChanges(sql, lane, changes, claimSnapshot);
  const others = changes.filter(({ id }) => !changed.has(id));
  if (others.length === 0) return;
  await takeOut(
    sql,
    others.map(({ id }) => id),
  );
  await applyChanges(sql, lane, others, claimSnapshot);
}

/**
 * The changed rows, locked in the order of ids like those of a canceled key. Until it ends, a cancel has the locks of messages that became
 * ready while it waited for them; in another order it and a settle could wait for each other.
 */
const mine = `mine as materialized (
       select m.id from only outbox.message m where m.id = any($1::uuid[]) and m.state::text in ('ready', 'confirmed')
       order by m.id for update
     )`;

/**
 * Every change is a compare-and-set on what was claimed: a row that has another state meanwhile keeps it. So does one that has
 * become ready again, which this settle has changed before if it is repeated: each way back renews the xid, and the snapshot of
 * the claim does not see it. A message whose receipt was faster stays confirmed, and gets its partition and offset. Which
 * failures are to be reported is noted in the lane's row.
 *
 * @returns the ids of the messages that were changed
 */
async function applyChanges(
  sql: Sql,
  lane: Lane,
  changes: readonly SettledChange[],
  claimSnapshot: string,
): Promise<ReadonlySet<string>> {
  const rows = await sql.query<{ id: string }>(
    `with ${mine}, changed as (
       update only outbox.message m set
         state = case when m.state = 'ready' then c.state else m.state end,
         -- Renewed so that it is noticed: a row that is put back by the next claim, one that retries by the starter.
         xid = case when c.state in ('ready', 'retrying') then pg_current_xact_id() else m.xid end,
         attempts = m.attempts + (coalesce(c.attempt, 'acknowledged') <> 'acknowledged')::integer,
         sends = m.sends + (c.state = 'published')::integer,
         last_error = coalesce(c.error, m.last_error),
         maybe_published = m.maybe_published or c.maybe_published,
         due_at = case when c.state = 'retrying' then outbox.clock() + c.retry_in_ms * interval '1 ms' else m.due_at end,
         workflow_id = case when c.state = 'retrying' and t.timer = 'workflow' then outbox.message_workflow_id(m.id) else m.workflow_id end,
         workflow_due_at = case when c.state = 'retrying' and t.timer = 'lane' then outbox.clock() + c.retry_in_ms * interval '1 ms'
           else m.workflow_due_at end,
         -- A message that was sent before and is refused or blocked now is still where it was published first.
         partition = case when c.state = 'published' then c.partition else m.partition end,
         "offset" = case when c.state = 'published' then c."offset" else m."offset" end,
         published_at = case when c.state = 'published' then outbox.clock() else m.published_at end,
         confirm_by = case when c.state = 'published' and m.state = 'ready' then outbox.clock()
           + t.receipt_timeout_ms[least(m.sends + 1, cardinality(t.receipt_timeout_ms))] * interval '1 ms' end,
         updated_at = outbox.clock()
       from unnest($1::uuid[], $2::outbox.state[], $3::text[], $4::text[], $5::float8[], $6::boolean[], $7::integer[], $8::bigint[])
           as c(id, state, attempt, error, retry_in_ms, maybe_published, partition, "offset"),
         mine, outbox.topic t
       where m.id = c.id and mine.id = c.id and t.name = m.topic and pg_visible_in_snapshot(m.xid, $11::pg_snapshot)
         and (m.state::text = 'ready' or m.state::text = 'confirmed' and c.state = 'published' and m.published_at is null)
       returning m.id, c.attempt, c.error, c.partition, c."offset"
     ), tried as (
       insert into outbox.attempt (message_id, at, outcome, error, partition, "offset")
       select id, outbox.clock(), attempt, error, partition, "offset" from changed where attempt is not null
       returning id, outcome
     ), noted as (
       update outbox.lane l set untold_from = coalesce(l.untold_from, f.first), untold_to = f.last
       from (select min(id) as first, max(id) as last from tried where outcome <> 'acknowledged') f
       where l.topic = $9 and l.n = $10 and f.first is not null
     )
     select id from changed`,
    [
      changes.map((change) => change.id),
      changes.map((change) => change.to),
      changes.map((change) => change.attempt ?? null),
      changes.map(({ error }) => (error === undefined ? null : storableText(error.slice(0, 2_000)))),
      changes.map((change) => change.retryInMs ?? null),
      changes.map((change) => change.maybePublished ?? false),
      changes.map((change) => change.partition ?? null),
      changes.map((change) => change.offset ?? null),
      lane.topic,
      lane.lane,
      claimSnapshot,
    ],
  );
  return new Set(rows.map(({ id }) => id));
}
