import type { Lane } from '../../core/lane.ts';
import type { State } from '../../core/transitions.ts';
import type { Sql } from '../database/database.ts';
import { DueEdge } from '../lane/due-edge.ts';
import { lanesOfNudge } from '../lane/nudge.ts';

/** How late a message may be before the sweep releases it in place of its workflow. */
const graceMs = 200;

/** What a release found, as the message's workflow needs it. */
export type ReleaseAnswer =
  | { readonly kind: 'waiting'; readonly dueInMs: number }
  /** Due, but another transaction has locked its row, or that of an earlier due message of its key. */
  | { readonly kind: 'locked' }
  /** Ready or blocked: its lane delivers it. */
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'done';
      readonly state: State;
      readonly partition: number | null;
      readonly offset: string | null;
    }
  | { readonly kind: 'unknown' };

interface OutcomeRow {
  readonly id: string;
  readonly state: State;
  readonly dueInMs: number | null;
  readonly partition: number | null;
  readonly offset: string | null;
}

/** By id. */
export type ReleaseAnswers = ReadonlyMap<string, ReleaseAnswer>;

/**
 * Makes those of the messages ready that are due, with the earlier due ones of their keys, in the order of due times and
 * positions.
 *
 * @returns the state of each, and the lanes of those that this call has made ready
 */
export async function releaseMessages(
  sql: Sql,
  ids: readonly string[],
): Promise<{ readonly answers: ReleaseAnswers; readonly lanes: readonly Lane[] }> {
  const [row] = await sql.query<{ lanes: string }>(
    `select array_to_string(lanes, ' ') as lanes from outbox.release_due($1::uuid[])`,
    [[...ids]],
  );
  return { lanes: lanesOfNudge(row?.lanes ?? ''), answers: await readOutcomes(sql, ids) };
}

/** The states of messages. */
export async function readOutcomes(sql: Sql, ids: readonly string[]): Promise<ReleaseAnswers> {
  const rows = await sql.query<OutcomeRow>(
    `select id, state::text, ceil(extract(epoch from due_at - outbox.clock()) * 1000)::float8 as "dueInMs", partition, "offset"
     from outbox.message_view where id = any($1::uuid[])`,
    [[...ids]],
  );
  const answers = new Map(rows.map((row) => [row.id, answerOf(row)]));
  const gone = ids.filter((id) => !answers.has(id));
  return gone.length === 0 ? answers : new Map([...answers, ...(await readArchivedOutcomes(sql, gone))]);
}

function answerOf({ dueInMs, offset, partition, state }: OutcomeRow): ReleaseAnswer {
  switch (state) {
    case 'waiting':
    case 'retrying':
      return dueInMs !== null && dueInMs > 0 ? { kind: 'waiting', dueInMs } : { kind: 'locked' };
    case 'ready':
    case 'blocked':
      return { kind: 'ready' };
    default:
      return { kind: 'done', state, partition, offset };
  }
}

/** A workflow may ask so late that its message is already archived. */
async function readArchivedOutcomes(sql: Sql, ids: readonly string[]): Promise<ReleaseAnswers> {
  const rows = await sql.query<Pick<OutcomeRow, 'id' | 'state' | 'partition' | 'offset'>>(
    `select distinct on (id) id, state::text, partition, "offset" from outbox.message_history where id = any($1::uuid[])`,
    [[...ids]],
  );
  const found = new Map(rows.map(({ id, ...row }) => [id, row]));
  return new Map(
    ids.map((id) => {
      const row = found.get(id);
      return [id, row === undefined ? { kind: 'unknown' } : { kind: 'done', ...row }];
    }),
  );
}

/**
 * Makes overdue messages ready, the longest overdue first: those of `punctualTopics` as soon as they are due, others once
 * their workflow is {@link graceMs} late. Locked rows, and those behind them in their keys, wait for a later sweep.
 *
 * @returns how many were released, where `limit` means there may be more, and their lanes
 */
export async function sweep(
  sql: Sql,
  punctualTopics: readonly string[],
  limit: number,
  edge: DueEdge = new DueEdge(),
): Promise<{ readonly released: number; readonly lanes: readonly Lane[] }> {
  const startedAt = performance.now();
  const from = edge.from(startedAt);
  const [row] = await sql.query<{ released: number; next: string; lanes: string }>(
    `select released, next_from::text as next, array_to_string(lanes, ' ') as lanes
     from outbox.sweep($1, $2, $3 * interval '1 ms', $4)`,
    [[...punctualTopics], limit, graceMs, from],
  );
  if (row === undefined) return { released: 0, lanes: [] };
  edge.walked(from, row.next, startedAt, performance.now());
  return { released: row.released, lanes: lanesOfNudge(row.lanes) };
}
