import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';

/** A lane whose workflow must be started now. */
export interface LaneStart extends Lane {
  readonly workflowId: string;
  /** True if starts have had no effect for a minute: the running workflow must be replaced. */
  readonly replace: boolean;
}

/** How long starts may have no effect before the lane's workflow counts as stuck. */
const stuckAfterMs = 60_000;

/**
 * A full check is made every second, and a start takes a tenth of a second, or seconds beside thousands of timers of messages.
 * Not more, because a lane is quiet after five seconds.
 */
const soonMs = 3_000;
/** The lanes of this many messages that are due soon are started. */
const soonLimit = 500;

/** What a search for lanes has found. */
export interface LaneSearch {
  readonly starts: readonly LaneStart[];
  /** Those of the searched lanes that have neither an owner nor work. */
  readonly quiet: readonly Lane[];
}

/**
 * Lanes of the named topics that have work and no owner, each at most once a second across all starters; they are marked as
 * wanted. The workflow of a dead owner is replaced once: it waits for the heartbeat of a process that is gone.
 *
 * Work is a row that a claim would return, a blocked row whose key may be free, or a message that is due soon, so that its lane runs
 * by then. Paused topics have none.
 *
 * @param quiet lanes that an earlier search found quiet, and of which no look has reported news since: they are not searched again
 */
export async function searchLanes(
  sql: Sql,
  topics: readonly string[],
  quiet: readonly Lane[],
): Promise<LaneSearch> {
  const names = quiet.map(({ topic }) => topic);
  const numbers = quiet.map(({ lane }) => lane);
  return searched(sql, topics, { orphans: false, known: [names, numbers] });
}

/**
 * The same, of all lanes, whatever is known of them.
 *
 * @param orphans only lanes whose owner has died
 */
export async function wantedLanes(
  sql: Sql,
  topics: readonly string[],
  { orphans }: { readonly orphans: boolean } = { orphans: false },
): Promise<readonly LaneStart[]> {
  const { starts } = await searched(sql, topics, { orphans, known: [null, null] });
  return starts;
}

interface SearchOptions {
  readonly orphans: boolean;
  readonly known: readonly [topics: readonly string[] | null, lanes: readonly number[] | null];
}

async function searched(
  sql: Sql,
  topics: readonly string[],
  { orphans, known }: SearchOptions,
): Promise<LaneSearch> {
  const rows = await sql.query<LaneStart & { readonly quiet: boolean }>(
    `select topic, lane, case when not quiet then outbox.lane_workflow_id(topic, lane) end as "workflowId", replace, quiet
     from outbox.want_lanes($1, $2, $3 * interval '1 ms', $4 * interval '1 ms', $5, $6, $7)`,
    [[...topics], orphans, stuckAfterMs, soonMs, soonLimit, ...known],
  );
  return {
    starts: rows.flatMap(({ quiet, ...start }) => (quiet ? [] : [start])),
    quiet: rows.flatMap(({ quiet, topic, lane }) => (quiet ? [{ topic, lane }] : [])),
  };
}

/** A message whose own workflow must be started, or given another due time. */
export interface MessageStart {
  readonly id: string;
  readonly workflowId: string;
  readonly topic: string;
  readonly key: string | null;
  readonly ref: string | null;
  /** ISO time with microseconds; identifies the due time that the workflow was given. */
  readonly dueAt: string;
  readonly dueInMs: number;
  /** True if the workflow sleeps until a later time than this. */
  readonly replace: boolean;
  /** False if the topic hides keys and refs from the Temporal UI. */
  readonly visible: boolean;
}

/**
 * Waiting and retrying messages within their topic's horizon whose workflow was not given their due time, the first ones by due
 * time. Each topic is read as far as its own horizon, also one that no relay has announced yet.
 *
 * @param from ISO time: those that are due earlier were read before. An old snapshot keeps them, and each page would read them again
 */
export async function untoldMessages(
  sql: Sql,
  limit: number,
  without: readonly string[] = [],
  from: string | null = null,
): Promise<readonly MessageStart[]> {
  return sql.query<MessageStart>(
    `select id, workflow_id as "workflowId", topic, key, ref, due_at::text as "dueAt", due_in_ms as "dueInMs", replace, visible
     from outbox.untold_messages($1, $2, $3)`,
    [limit, [...without], from],
  );
}

/**
 * Records the due times that workflows were given, even if a message was rescheduled meanwhile: the difference causes another
 * start, and the old time shows whether the sleeping workflow must be replaced. What somebody has locked is left out, and told
 * once more: waiting for business transactions could end in a deadlock with them.
 *
 * @returns the ids of those that it recorded
 */
export async function markTold(
  sql: Sql,
  told: readonly Pick<MessageStart, 'id' | 'dueAt'>[],
): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(
    `update only outbox.message m set workflow_due_at = t.due_at
     from unnest($1::uuid[], $2::timestamptz[]) as t(id, due_at) join (${freeOf('$1')}) free on free.id = t.id
     where m.ctid = free.ctid and m.id = free.id returning m.id`,
    [told.map((start) => start.id), told.map((start) => start.dueAt)],
  );
  return rows.map(({ id }) => id);
}

/**
 * Forgets the due times that the workflows of waiting messages were given, so that they are started again. What somebody has
 * locked is left to the next call.
 *
 * @returns the number of these messages
 */
export async function forgetTold(sql: Sql, ids: readonly string[]): Promise<number> {
  const rows = await sql.query(
    `update only outbox.message m set workflow_due_at = null
     from (${freeOf('$1')}) free
     where m.ctid = free.ctid and m.id = free.id and m.workflow_id = outbox.message_workflow_id(m.id)
     returning 1`,
    [[...ids]],
  );
  return rows.length;
}

/**
 * The messages of these ids that still wait and that nobody has locked, locked by this statement, with their ctids: to find each
 * by its id once more would read as much again. One that was changed in the same moment is not found there.
 */
function freeOf(ids: string): string {
  return `select l.id, l.ctid from only outbox.message l where l.id = any(${ids}::uuid[]) and l.state::text in ('waiting', 'retrying')
       for no key update skip locked`;
}
