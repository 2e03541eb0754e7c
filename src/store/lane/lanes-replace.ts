import type { Database, Sql } from '../database/database.ts';
import { holdChange, type TopicChange } from './lanes-change.ts';
import { type LanesWalk, skippedMoves, stillSkipped, walksOf } from './lanes-walk.ts';

/** The most messages whose ids are noted because somebody holds them; with more, the walk waits. */
const mostSkipped = 1_000;

/** How far a change has come. */
interface Progress {
  /** Walks that are complete. */
  readonly walks: number;
  /** Where the next page begins; `null`: at the beginning of its walk. */
  readonly cursor: string | null;
  readonly skipped: readonly string[];
}

interface PageAnswer {
  readonly moved: number;
  readonly wrong: number;
  readonly skipped: readonly string[];
  readonly cursor: string | null;
}

/** What one transaction has done. `end`: nothing is left to be done now. */
interface Step {
  readonly moved: number;
  readonly end: boolean;
}

/**
 * Moves every unpublished message of a paused topic to the lane of its key, page by page. Positions stay, and with them the order
 * of every key.
 *
 * Nobody stores by the old number any more, so no walk begins again: the change notes how far it has come, and the next call goes on
 * there. Late messages are read once for each part of them that is moved. Locked messages are noted, and asked for again at the end.
 *
 * @param goesOn asked between pages @defaultValue yes
 * @returns how many were moved
 * @throws ChangeGone before a page that no longer belongs to the change
 */
export async function replaceMessages(
  database: Database,
  change: TopicChange,
  goesOn: () => boolean = () => true,
): Promise<number> {
  const walks = await walksOfTopic(database, change);
  let total = await inOne(database, change, moveSkipped);
  while (goesOn()) {
    let end = true;
    const moved = await inOne(database, change, async (sql, held) => {
      const progress = await progressOf(sql, held);
      const walk = walks[progress.walks];
      if (walk === undefined) return moveSkipped(sql, held);
      const step = await movePage(sql, held, progress, walk);
      end = step.end;
      return step.moved;
    });
    total += moved;
    if (end) break;
  }
  return total;
}

/** True if every message of the topic is in its lane. To be asked while the change is held. */
export async function allReplaced(sql: Sql, change: TopicChange): Promise<boolean> {
  const { walks, skipped } = await progressOf(sql, change);
  return walks === (await walksOfTopic(sql, change)).length && skipped.length === 0;
}

async function walksOfTopic(sql: Sql, { topic }: TopicChange): Promise<readonly LanesWalk[]> {
  const lanes = await sql.query<{ n: number }>('select n from outbox.lane where topic = $1 order by n', [
    topic,
  ]);
  return walksOf(lanes.map(({ n }) => n));
}

function inOne(
  database: Database,
  change: TopicChange,
  work: (sql: Sql, change: TopicChange) => Promise<number>,
): Promise<number> {
  return database.transaction(async (sql) => {
    await holdChange(sql, change);
    return work(sql, change);
  });
}

async function progressOf(sql: Sql, { id }: TopicChange): Promise<Progress> {
  const [progress] = await sql.query<Progress>(
    'select walks, cursor, skipped from outbox.topic_change where id = $1',
    [id],
  );
  if (progress === undefined) throw new Error('A change that is held has lost its row.');
  return progress;
}

async function movePage(
  sql: Sql,
  { topic, wanted, id }: TopicChange,
  progress: Progress,
  { text, values, most }: LanesWalk,
): Promise<Step> {
  const [page] = await sql.query<PageAnswer>(text, [topic, wanted, progress.cursor, ...values]);
  if (page === undefined) throw new Error('A page of a change of lanes answers one row.');
  const { moved, wrong, cursor } = page;
  // It may have more of them.
  if (wrong === most) return { moved, end: moved === 0 };
  const skipped = [...progress.skipped, ...page.skipped];
  if (skipped.length > mostSkipped) return { moved, end: true };
  await sql.query(
    'update outbox.topic_change set walks = $2, cursor = $3, skipped = $4::uuid[] where id = $1',
    [id, cursor === null ? progress.walks + 1 : progress.walks, cursor, skipped],
  );
  return { moved, end: false };
}

/** Whatever has become of the skipped messages: those that somebody still holds stay noted. */
async function moveSkipped(sql: Sql, change: TopicChange): Promise<number> {
  const { topic, wanted, id } = change;
  const { skipped } = await progressOf(sql, change);
  if (skipped.length === 0) return 0;
  let total = 0;
  for (const statement of skippedMoves) {
    const [row] = await sql.query<{ moved: number }>(statement, [topic, wanted, skipped]);
    total += row?.moved ?? 0;
  }
  const left = await sql.query<{ id: string }>(stillSkipped, [topic, wanted, skipped]);
  await sql.query('update outbox.topic_change set skipped = $2::uuid[] where id = $1', [
    id,
    left.map((row) => row.id),
  ]);
  return total;
}
