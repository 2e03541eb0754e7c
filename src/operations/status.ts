import type { Database } from '../store/database/database.ts';
import type { DatabaseAddress } from '../store/database/database-address.ts';
import { visitDatabase } from '../store/database/visit.ts';
import { type BreakerStatus, readBreakers } from '../store/inbox/breakers.ts';
import { type GroupStatus, readGroups } from '../store/inbox/status.ts';
import { requireMigrated } from '../store/installation/migrate.ts';
import {
  type GroupLag,
  type RelayStatus,
  readRelays,
  type ServerView,
} from '../store/installation/relays.ts';
import { readSettings, type Setting } from '../store/installation/settings.ts';
import { readTwin, type Twin } from '../store/installation/twin.ts';
import { type LaneStatus, readStatus } from '../store/lane/status.ts';
import { readTopicPolicies, type TopicPolicyRow } from '../store/lane/topic-policies.ts';
import { type Reconciliation, readReconciliation } from '../store/verify/reconciliation.ts';
import { type LaneLock, readLaneLocks } from './lane-locks.ts';

/** A server that relays need, as those that run see it. */
export interface ServerStatus extends Pick<ServerView, 'server' | 'address'> {
  /** Living relays that need it, 1 or more. */
  readonly relays: number;
  /** For how many of them it answers. */
  readonly answering: number;
  /** What one of the others says; `null`: it answers all. */
  readonly error: string | null;
}

/** How the whole outbox stands. */
export interface Status {
  /** Relays that run, and below them those that died within the last hour. Without a living one nothing is delivered. */
  readonly relays: readonly RelayStatus[];
  /** Temporal and the brokers, as living relays see them; empty when none lives. */
  readonly servers: readonly ServerStatus[];
  /** What consumer groups whose inbox is in this database have not committed yet, as a living relay saw it. */
  readonly lags: readonly GroupLag[];
  /** Age of the oldest message that is due and not published; null: nothing is due. */
  readonly oldestDueMs: number | null;
  /** The lane with the oldest due message first. */
  readonly lanes: readonly LaneStatus[];
  /** Open transactions of others that keep relays from lanes, the oldest first. */
  readonly laneLocks: readonly LaneLock[];
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
  /** What the breakers of running consumers of these groups pause, the longest pause first; one entry per consumer. */
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
  Setting,
  TopicPolicyRow,
  Twin,
};

/** @throws OutboxError `OUTBOX_MIGRATION_MISSING`, and as {@link statusOf} */
export async function status(at: DatabaseAddress): Promise<Status> {
  return visitDatabase(at, async (database) => {
    await requireMigrated(database);
    return statusOf(database);
  });
}

/**
 * The status of a migrated database.
 *
 * @throws OutboxError `OUTBOX_LANE_LOCKED` when somebody has the table of lanes locked so that nobody can read it
 */
export async function statusOf(database: Database): Promise<Status> {
  // First, because it does not wait where the others would.
  const laneLocks = await readLaneLocks(database);
  const lanes = await readStatus(database);
  const relays = await readRelays(database);
  const living = relays.filter(({ alive }) => alive);
  const ages = lanes.flatMap((lane) => (lane.oldestDueMs === null ? [] : [lane.oldestDueMs]));
  return {
    relays,
    servers: serversOf(living),
    lags: living[0]?.lags ?? [],
    oldestDueMs: ages.length === 0 ? null : Math.max(...ages),
    lanes,
    laneLocks,
    topics: await readTopicPolicies(database),
    settings: await readSettings(database),
    reconciliation: (await readReconciliation(database)) ?? null,
    twin: await readTwin(database),
    groups: await readGroups(database),
    breakers: await readBreakers(database),
  };
}

/** What living relays say about their servers, by server. */
function serversOf(living: readonly RelayStatus[]): readonly ServerStatus[] {
  const views = new Map<string, ServerView[]>();
  for (const view of living.flatMap(({ servers }) => servers)) {
    const name = `${view.server} ${view.address}`;
    views.set(name, [...(views.get(name) ?? []), view]);
  }
  return [...views.values()].flatMap((seen) => {
    const [first] = seen;
    if (first === undefined) return [];
    const { server, address } = first;
    const failed = seen.filter(({ error }) => error !== null);
    const answering = seen.length - failed.length;
    return [{ server, address, relays: seen.length, answering, error: failed[0]?.error ?? null }];
  });
}
