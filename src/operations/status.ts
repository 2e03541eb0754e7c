import type { Database } from '../store/database.ts';
import { requireMigrated } from '../store/migrate.ts';
import { openDatabase } from '../store/pool.ts';
import { type GroupStatus, readGroups } from '../store/queries/inbox-status.ts';
import { type Reconciliation, readReconciliation } from '../store/queries/reconciliation.ts';
import { readTopicPolicies, type TopicPolicyRow } from '../store/queries/topic-policies.ts';
import { readSettings, type Setting } from '../store/settings.ts';
import { readTwin, type Twin } from '../store/twin.ts';
import { type LaneStatus, readStatus } from '../store/queries/status.ts';

/** How the whole outbox stands. */
export interface Status {
  /** Age of the oldest message that is due and not published; null: nothing is due. */
  readonly oldestDueMs: number | null;
  /** The lane with the oldest due message first. */
  readonly lanes: readonly LaneStatus[];
  /** Policies and limits by topic. */
  readonly topics: readonly TopicPolicyRow[];
  /** Limits and durations with which a relay was last started; empty before the first. */
  readonly settings: readonly Setting[];
  /** The last comparison of rows with workflows; null before the first. */
  readonly reconciliation: Reconciliation | null;
  /** Another living database that is this installation, too, seen in the last minutes; null: none. */
  readonly twin: Twin | null;
  /** Consumer groups whose inbox is in this database, and what they keep. */
  readonly groups: readonly GroupStatus[];
}

export type { GroupStatus, LaneStatus, Reconciliation, Setting, TopicPolicyRow, Twin };

/** @throws OutboxError `OUTBOX_MIGRATION_MISSING` */
export async function status(databaseUrl: string): Promise<Status> {
  const database = openDatabase({ url: databaseUrl, connections: 1 });
  try {
    await requireMigrated(database);
    return await statusOf(database);
  } finally {
    await database.close();
  }
}

/** The status of a migrated database. */
export async function statusOf(database: Database): Promise<Status> {
  const lanes = await readStatus(database);
  const ages = lanes.flatMap((lane) => (lane.oldestDueMs === null ? [] : [lane.oldestDueMs]));
  return {
    oldestDueMs: ages.length === 0 ? null : Math.max(...ages),
    lanes,
    topics: await readTopicPolicies(database),
    settings: await readSettings(database),
    reconciliation: (await readReconciliation(database)) ?? null,
    twin: await readTwin(database),
    groups: await readGroups(database),
  };
}
