import type { Sql } from '../database/database.ts';

// A message with a workflow of its own that was started: the condition of the index message_told.
const told = `m.state in ('waiting', 'retrying') and m.workflow_due_at is not null and m.workflow_id like '%/message/%'`;

/** Counting stops here, so that it never takes long. */
export const maxCounted = 100_000;

/** How many waiting and retrying messages have been given a workflow of their own; {@link maxCounted} also means more. */
export async function countTold(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ count: number }>(
    `select count(*)::integer as count from (
       select from only outbox.message m where ${told} limit $1) x`,
    [maxCounted],
  );
  return row?.count ?? 0;
}

/** Where a walk in the order of due times has arrived. */
export interface DueCursor {
  /** Due time as PostgreSQL writes it; `-infinity` before all. */
  readonly dueAt: string;
  /** UUID of the message. */
  readonly id: string;
}

/** Before all messages. */
export const firstDue: DueCursor = { dueAt: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

/** Messages with a workflow of their own after a cursor, in the order of their due times. */
export async function readTold(sql: Sql, after: DueCursor, limit: number): Promise<readonly DueCursor[]> {
  return sql.query<DueCursor>(
    `select m.id, m.due_at::text as "dueAt" from only outbox.message m
     where ${told} and (m.due_at, m.id) > ($1::timestamptz, $2::uuid)
     order by m.due_at, m.id limit $3`,
    [after.dueAt, after.id, limit],
  );
}

/** A message whose workflow has nothing to wait for. */
export interface Superfluous {
  readonly id: string;
  /** The state of the message; `null`: it is not in the live table. */
  readonly state: string | null;
}

/**
 * Those of these messages whose workflow is superfluous: they no longer exist, or finished so long ago that the workflow
 * would have noticed. A workflow that waits for an outcome polls for it at least every five minutes; one that still sleeps
 * until a due time does not.
 */
export async function readSuperfluous(sql: Sql, ids: readonly string[]): Promise<readonly Superfluous[]> {
  return sql.query<Superfluous>(
    `select g.id, v.state::text as state from unnest($1::uuid[]) g (id)
       left join lateral (select state, updated_at from outbox.message_view where id = g.id limit 1) v on true
     where v.state is null
       or v.state::text in ('canceled', 'superseded', 'discarded') and v.updated_at < outbox.clock() - interval '10 seconds'
       or v.state::text in ('published', 'confirmed', 'failed', 'expired') and v.updated_at < outbox.clock() - interval '10 minutes'`,
    [[...ids]],
  );
}
