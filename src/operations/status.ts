import { requireMigrated } from '../store/migrate.ts';
import { openDatabase } from '../store/pool.ts';
import { type LaneStatus, readStatus } from '../store/queries/status.ts';

/** How the whole outbox stands. */
export interface Status {
  /** Age of the oldest message that is due and not published; null: nothing is due. */
  readonly oldestDueMs: number | null;
  /** The lane with the oldest due message first. */
  readonly lanes: readonly LaneStatus[];
}

export type { LaneStatus };

/** @throws OutboxError `OUTBOX_MIGRATION_MISSING` */
export async function status(databaseUrl: string): Promise<Status> {
  const database = openDatabase({ url: databaseUrl, connections: 1 });
  try {
    await requireMigrated(database);
    const lanes = await readStatus(database);
    const ages = lanes.flatMap((lane) => (lane.oldestDueMs === null ? [] : [lane.oldestDueMs]));
    return { oldestDueMs: ages.length === 0 ? null : Math.max(...ages), lanes };
  } finally {
    await database.close();
  }
}
