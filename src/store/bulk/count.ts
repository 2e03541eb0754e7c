import type { Sql } from '../database/database.ts';
import { type Walk, walkStart } from './walk.ts';

/** What a selection matches now. */
export interface SelectionCount<Sample> {
  readonly count: number;
  /** False: there are at least this many. */
  readonly exact: boolean;
  /** The first of them. */
  readonly sample: readonly Sample[];
}

/** Counting stops here, */
const maxCounted = 100_000;
/** or after this time: a filter may have to read millions of rows to find few. */
const longestCountMs = 10_000;
const countedAtOnce = 20_000;
const sampleSize = 10;

/** Counts the messages of a selection, up to 100,000 and for about ten seconds. */
export async function countSelection<Sample>(sql: Sql, walk: Walk<Sample>): Promise<SelectionCount<Sample>> {
  const until = performance.now() + longestCountMs;
  const first: string[] = [];
  let count = 0;
  let cursor = walkStart;
  let exact = false;
  while (!exact && count < maxCounted && performance.now() < until) {
    const page = await walk.page(sql, cursor, Math.min(countedAtOnce, maxCounted - count), null);
    count += page.ids.length;
    first.push(...page.ids.slice(0, sampleSize - first.length));
    exact = page.next === null;
    cursor = page.next ?? cursor;
  }
  return { count, exact, sample: await walk.sample(sql, first) };
}

/** The current time, as the table stamps messages. */
export async function readNow(sql: Sql): Promise<string> {
  const [row] = await sql.query<{ readonly now: string }>('select statement_timestamp()::text as now');
  if (row === undefined) throw new Error('The time is always answered.');
  return row.now;
}

/** The same by the clock of kept messages, with an age turned into the latest time of arrival. */
export async function fixAge(
  sql: Sql,
  olderThanMs: number | undefined,
): Promise<{ readonly now: string; readonly arrivedTo: string | null }> {
  const [row] = await sql.query<{ readonly now: string; readonly arrivedTo: string | null }>(
    `select outbox.clock()::text as now, to_char((outbox.clock() - $1::float8 * interval '1 ms') at time zone 'UTC',
       'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "arrivedTo"`,
    [olderThanMs ?? null],
  );
  if (row === undefined) throw new Error('The time is always answered.');
  return row;
}
