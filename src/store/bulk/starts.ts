import { flagCell, readRows, textCell } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';

/** A bulk operation whose workflow must be started now. */
export interface BulkStart {
  readonly id: string;
  readonly workflowId: string;
  /** True if it was resumed: a sleeping workflow must be replaced. */
  readonly replace: boolean;
}

/** A bulk operation without progress for this long has lost its workflow. */
const stuckAfterMs = 60_000;

/**
 * Running bulk operations on messages of the outbox, or on those that a group keeps, that have no workflow according to their
 * rows: never started, resumed, or without progress for a minute. Each is marked as told, so that only one starter gets it;
 * if the start fails, undo that with {@link forgetBulkTold}.
 */
export async function wantedBulks(sql: Sql, group: string | null): Promise<readonly BulkStart[]> {
  const rows = await sql.query<object>(
    `with wanted as materialized (
       select b.id, coalesce(b.told_at = '-infinity', false) as replace from outbox.bulk_operation b
       where b.state = 'running' and b.consumer_group is not distinct from $2::text
         and (b.told_at is null or b.told_at = '-infinity'
           or not outbox.lately(b.told_at, $1::float8) and not outbox.lately(b.updated_at, $1::float8))
       order by b.created_at for update skip locked
     )
     update outbox.bulk_operation b set told_at = clock_timestamp() from wanted w where b.id = w.id
     returning b.id::text as id, (select i.id from outbox.installation i) || '/bulk/' || b.id as "workflowId", w.replace`,
    [stuckAfterMs, group],
  );
  return readRows(rows, { id: textCell, workflowId: textCell, replace: flagCell });
}

/** Whether a bulk operation on messages that a group keeps is running. */
export async function anyBulkRuns(sql: Sql, group: string): Promise<boolean> {
  const rows = await sql.query(
    `select 1 from outbox.bulk_operation b where b.state = 'running' and b.consumer_group = $1 limit 1`,
    [group],
  );
  return rows.length > 0;
}

/** Makes starters retry an operation whose workflow could not be started. */
export async function forgetBulkTold(sql: Sql, { id, replace }: BulkStart): Promise<void> {
  await sql.query(
    `update outbox.bulk_operation set told_at = case when $2::boolean then '-infinity'::timestamptz end where id = $1::uuid and state = 'running'`,
    [id, replace],
  );
}
