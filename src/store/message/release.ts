import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';
import { DueEdge } from '../lane/due-edge.ts';

/** How late a message may be before the sweep releases it in place of its workflow. */
const graceMs = 200;

/** What a release found, as the message's workflow needs it. */
export type ReleaseAnswer =
  | { readonly kind: 'waiting'; readonly dueInMs: number }
  /** Due, but another transaction has locked the row. */
  | { readonly kind: 'locked' }
  /** Ready or held: its lane delivers it. */
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'done';
      readonly state: State;
      readonly partition: number | null;
      readonly offset: string | null;
    }
  | { readonly kind: 'unknown' };

interface OutcomeRow {
  readonly state: State;
  readonly dueInMs: number | null;
  readonly partition: number | null;
  readonly offset: string | null;
}

// Here and in other statements the state of a row that is found by id is compared as `state::text`, which matches no partial
// index: after a bulk load the statistics say that nothing waits, and the planner would scan all waiting rows for each id.
// For a row that the statement has already locked the plan does not matter.

/** Makes one due message ready. @returns its state */
export async function releaseMessage(sql: Sql, id: string): Promise<ReleaseAnswer> {
  await sql.query(
    `update outbox.message m set state = 'ready', xid = pg_current_xact_id(), updated_at = outbox.clock(),
       position = case when m.state = 'waiting' then nextval('outbox.message_position') else m.position end
     where m.id = (select id from outbox.message
         where id = $1 and state::text in ('waiting', 'retrying') and due_at <= outbox.clock() for update skip locked)`,
    [id],
  );
  return readOutcome(sql, id);
}

/** The state of a message. */
export async function readOutcome(sql: Sql, id: string): Promise<ReleaseAnswer> {
  const [row] = await sql.query<OutcomeRow>(
    `select state::text, ceil(extract(epoch from due_at - outbox.clock()) * 1000)::float8 as "dueInMs", partition, "offset"
     from outbox.message_view where id = $1`,
    [id],
  );
  if (row === undefined) return readArchivedOutcome(sql, id);
  switch (row.state) {
    case 'waiting':
    case 'retrying':
      return row.dueInMs !== null && row.dueInMs > 0
        ? { kind: 'waiting', dueInMs: row.dueInMs }
        : { kind: 'locked' };
    case 'ready':
    case 'held':
      return { kind: 'ready' };
    default:
      return { kind: 'done', state: row.state, partition: row.partition, offset: row.offset };
  }
}

/** A workflow may ask so late that its message is already archived. */
async function readArchivedOutcome(sql: Sql, id: string): Promise<ReleaseAnswer> {
  const [row] = await sql.query<Pick<OutcomeRow, 'state' | 'partition' | 'offset'>>(
    `select state::text, partition, "offset" from outbox.message_history where id = $1 limit 1`,
    [id],
  );
  return row === undefined ? { kind: 'unknown' } : { kind: 'done', ...row };
}

/**
 * Makes overdue messages ready, the longest overdue first: those of `punctualTopics` as soon as they are due, others once
 * their workflow is {@link graceMs} late. Locked rows wait for a later sweep.
 *
 * @returns how many were released; `limit` means there may be more.
 */
export async function sweep(
  sql: Sql,
  punctualTopics: readonly string[],
  limit: number,
  edge: DueEdge = new DueEdge(),
): Promise<number> {
  const startedAt = performance.now();
  const from = edge.from(startedAt);
  const [row] = await sql.query<{ released: number; next: string }>(
    `select released, next_from::text as next from outbox.sweep($1, $2, $3 * interval '1 ms', $4)`,
    [[...punctualTopics], limit, graceMs, from],
  );
  if (row === undefined) return 0;
  edge.walked(from, row.next, startedAt, performance.now());
  return row.released;
}
