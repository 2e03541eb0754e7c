import type { Sql } from '../database/database.ts';
import { DueEdge } from './due-edge.ts';

/** What changed in one lane since the last look. */
export interface LaneNews {
  readonly topic: string;
  readonly lane: number;
  /** Something became ready, or was canceled and may have freed its key. */
  readonly ready: boolean;
  /** Something waits or retries, and may need a workflow of its own. */
  readonly waiting: boolean;
  /** The transactions that made something ready or canceled it, with commas; `null`: unknown, because there are many. */
  readonly xids: string | null;
}

export interface Look {
  /** To be passed to the next look. */
  readonly snapshot: string;
  /**
   * Of the server. Another one may have lost commits and assigned their transaction ids again: such messages are no news to the next
   * look.
   */
  readonly incarnation: string;
  readonly news: readonly LaneNews[];
  /** Milliseconds until the next message of a punctual topic is due, 0 or less if one is; `null`: none waits. */
  readonly nextDueInMs: number | null;
}

type LookRow = Omit<Look, 'news'> & { readonly next: string } & {
  readonly [Field in keyof LaneNews]: LaneNews[Field] | null;
};

/**
 * One look at all lanes: which rows became visible since the last look. Rows that were committed before the first look are not
 * news.
 */
export async function look(
  sql: Sql,
  lastSnapshot: string | null,
  edge: DueEdge = new DueEdge(),
): Promise<Look> {
  const startedAt = performance.now();
  const from = edge.from(startedAt);
  const rows = await sql.query<LookRow>(
    `select snapshot, extract(epoch from outbox.incarnation())::text as incarnation, next_due_in_ms as "nextDueInMs",
       next_from::text as next, topic, lane, ready, waiting, xids
     from outbox.look($1, $2)`,
    [lastSnapshot, from],
    'repeated',
  );
  const [first] = rows;
  if (first === undefined) throw new Error('A look answers at least one row.');
  edge.walked(from, first.next, startedAt, performance.now());
  const news = first.topic === null ? [] : (rows as unknown as readonly LaneNews[]);
  const { snapshot, incarnation, nextDueInMs } = first;
  return { snapshot, incarnation, nextDueInMs, news };
}
