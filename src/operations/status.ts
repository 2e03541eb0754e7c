import type { Database } from '../store/database.ts';
import { requireMigrated } from '../store/migrate.ts';
import { type GroupStatus, readGroups } from '../store/queries/inbox-status.ts';
import { type Reconciliation, readReconciliation } from '../store/queries/reconciliation.ts';
import { readTopicPolicies, type TopicPolicyRow } from '../store/queries/topic-policies.ts';
import { readSettings, type Setting } from '../store/settings.ts';
import { type LaneStatus, readStatus } from '../store/queries/status.ts';
import { visitDatabase } from '../store/visit.ts';

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
  /** Consumer groups whose inbox is in this database, and what they keep. */
  readonly groups: readonly GroupStatus[];
}

export type { GroupStatus, LaneStatus, Reconciliation, Setting, TopicPolicyRow };

/** @throws OutboxError `OUTBOX_MIGRATION_MISSING` */
export async function status(databaseUrl: string): Promise<Status> {
  return visitDatabase(databaseUrl, async (database) => {
    await requireMigrated(database);
    return statusOf(database);
  });
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
    groups: await readGroups(database),
  };
}
