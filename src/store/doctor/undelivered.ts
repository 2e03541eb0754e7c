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

/** Those that have waited longest first; none of a paused topic, or of a lane on hold. */
export async function readUndelivered(sql: Sql): Promise<readonly UndeliveredFacts[]> {
  const lanes = await readStatus(sql, countedTo);
  return lanes.flatMap(({ hasWork, hold, lane, oldestDueMs, owned, paused, topic }) =>
    oldestDueMs === null || !hasWork || owned || paused || hold !== null
      ? []
      : [{ topic, lane, oldestDueMs }],
  );
}
