import type { Database } from '../../store/database/database.ts';
import { type BreakerStatus, readBreakers } from '../../store/inbox/breakers.ts';
import { readConsumers, type SeenConsumer } from '../../store/inbox/consumers.ts';
import { type GroupStatus, readGroups } from '../../store/inbox/status.ts';
import { lagsOf } from '../../store/installation/lags.ts';
import { type GroupLag, type RelayStatus, readRelays } from '../../store/installation/relays.ts';
import { type ServerStatus, serversOf } from '../../store/installation/servers.ts';
import { readSettings, type Setting } from '../../store/installation/settings.ts';
import { readTwin, type Twin } from '../../store/installation/twin.ts';
import { type LaneStatus, readStatus } from '../../store/lane/status.ts';
import { readTopicPolicies, type TopicPolicyRow } from '../../store/lane/topic-policies.ts';
import { type Reconciliation, readReconciliation } from '../../store/verify/reconciliation.ts';
import { type LaneLock, readLaneLocks } from './lane-locks.ts';

/** State of the whole outbox. */
export interface Status {
  /** Running relays, then those that died within the last hour. Without a running one nothing is delivered. */
  readonly relays: readonly RelayStatus[];
  /** Temporal and the brokers, as living relays see them; empty if there is none. */
  readonly servers: readonly ServerStatus[];
  /** Lags of the consumer groups whose inbox is in this database, as living relays saw them. */
  readonly lags: readonly GroupLag[];
  /** Age of the oldest message that is due and not published; `null`: none is due. */
  readonly oldestDueMs: number | null;
  /** The lane with the oldest due message first. */
  readonly lanes: readonly LaneStatus[];
  /** Open transactions that block lanes, oldest first. */
  readonly laneLocks: readonly LaneLock[];
  /** Policies and limits by topic. */
  readonly topics: readonly TopicPolicyRow[];
  /** Limits and durations of the relay that was started last; empty before the first one. */
  readonly settings: readonly Setting[];
  /** The last comparison of rows with workflows; `null` before the first one. */
  readonly reconciliation: Reconciliation | null;
  /** Another running database of this installation that was seen within the last minutes; `null`: none. */
  readonly twin: Twin | null;
  /** Consumer groups whose inbox is in this database, and what they keep. */
  readonly groups: readonly GroupStatus[];
  /** Running consumers of these groups, then those that died within the last hour, by group; at most 1,000. */
  readonly consumers: readonly SeenConsumer[];
  /** Addresses that breakers of running consumers of these groups pause, longest pause first; one entry per consumer. */
  readonly breakers: readonly BreakerStatus[];
}

export type {
  BreakerStatus,
  GroupLag,
  GroupStatus,
  LaneLock,
  LaneStatus,
  Reconciliation,
  RelayStatus,
  SeenConsumer,
  ServerStatus,
  Setting,
  TopicPolicyRow,
  Twin,
};

/**
 * The status of a migrated database.
 *
 * @throws OutboxError `OUTBOX_LANE_LOCKED` if the table of lanes is locked against reads
 */
export async function statusOf(database: Database): Promise<Status> {
  // First, because this query does not wait for locks, as the others would.
  const laneLocks = await readLaneLocks(database);
  const lanes = await readStatus(database);
  const relays = await readRelays(database);
  const living = relays.filter(({ alive }) => alive);
  const ages = lanes.flatMap((lane) => (lane.oldestDueMs === null ? [] : [lane.oldestDueMs]));
  return {
    relays,
    servers: serversOf(living),
    lags: lagsOf(living),
    oldestDueMs: ages.length === 0 ? null : Math.max(...ages),
    lanes,
    laneLocks,
    topics: await readTopicPolicies(database),
    settings: await readSettings(database),
    reconciliation: (await readReconciliation(database)) ?? null,
    twin: await readTwin(database),
    groups: await readGroups(database),
    consumers: await readConsumers(database),
    breakers: await readBreakers(database),
  };
}
