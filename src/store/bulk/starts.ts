import type { Sql } from '../database/database.ts';

/** A bulk operation whose workflow is to be started now. */
export interface BulkStart {
  readonly id: string;
  readonly workflowId: string;
  /** True when it was resumed: a workflow of it that sleeps is to be replaced. */
  readonly replace: boolean;
}

/** A bulk operation that has not moved for so long has lost its workflow. */
const stuckAfterMs = 60_000;

/**
 * Running bulk operations without a workflow, as far as their rows say: never told, resumed, or not moved for a minute. Those
 * on messages of the outbox, or on those that a group keeps.
 * Each is marked as told, so that it is named to one starter; give it back with {@link forgetBulkTold} when the start
 * fails.
 */
export async function wantedBulks(sql: Sql, group: string | null): Promise<readonly BulkStart[]> {
  return sql.query<BulkStart>(
    `with wanted as materialized (
       select b.id, coalesce(b.told_at = '-infinity', false) as replace from outbox.bulk_operation b
       where b.state = 'running' and b.consumer_group is not distinct from $2::text
         and (b.told_at is null or greatest(b.told_at, b.updated_at) < clock_timestamp() - $1::float8 * interval '1 ms' or b.told_at = '-infinity')
       order by b.created_at for update skip locked
     )
     update outbox.bulk_operation b set told_at = clock_timestamp() from wanted w where b.id = w.id
     returning b.id::text as id, (select i.id from outbox.installation i) || '/bulk/' || b.id as "workflowId", w.replace`,
    [stuckAfterMs, group],
  );
}

/** Whether a bulk operation on the messages that a group keeps is to go on. */
export async function anyBulkRuns(sql: Sql, group: string): Promise<boolean> {
  const rows = await sql.query(
    `select 1 from outbox.bulk_operation b where b.state = 'running' and b.consumer_group = $1 limit 1`,
    [group],
  );
  return rows.length > 0;
}

/** Makes the starters try again with an operation whose workflow could not be started. */
export async function forgetBulkTold(sql: Sql, { id, replace }: BulkStart): Promise<void> {
  await sql.query(
    `update outbox.bulk_operation set told_at = case when $2::boolean then '-infinity'::timestamptz end where id = $1::uuid and state = 'running'`,
    [id, replace],
  );
}
