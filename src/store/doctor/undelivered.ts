import { rest } from '../../core/rest.ts';
import type { Sql } from '../database/database.ts';
import { readStatus } from '../lane/status.ts';

/** Where messages are due that no relay has in hand, though nothing that is known keeps one from taking them. */
export interface UndeliveredFacts {
  /** Name of the topic. */
  readonly topic: string;
  /** `null`: no relay has announced the topic. */
  readonly lane: number | null;
  readonly oldestDueMs: number;
}

/** The age of the oldest message is that of one of so many. */
const countedTo = 1_000;
/** By then a running relay has taken a lane that got work just now, though a blocked message of it may be old. */
const takenWithinMs = 2_000;

/** Those that have waited longest first; none of a paused topic, of a lane on hold, or of one that a relay takes meanwhile. */
export async function readUndelivered(sql: Sql): Promise<readonly UndeliveredFacts[]> {
  const seen = await undeliveredNow(sql);
  if (seen.every(({ lane }) => lane === null)) return seen;
  await rest(takenWithinMs);
  const still = await undeliveredNow(sql);
  return still.filter((one) => seen.some(({ lane, topic }) => topic === one.topic && lane === one.lane));
}

async function undeliveredNow(sql: Sql): Promise<readonly UndeliveredFacts[]> {
  const lanes = await readStatus(sql, countedTo);
  return lanes.flatMap(({ hasWork, hold, lane, oldestDueMs, owned, paused, topic }) =>
    oldestDueMs === null || !hasWork || owned || paused || hold !== null
      ? []
      : [{ topic, lane, oldestDueMs }],
  );
}
