import type { RelayConfig } from '../../config/config.ts';

/** Connections of the watcher, the starter and releases. */
const spareConnections = 6;
/** A lane holds a connection for milliseconds at a time, and PostgreSQL allows a hundred by default. */
const mostForLanes = 64;

/**
 * The maximum number of connections of a relay, without its session: one per lane, up to 64, and some to spare, unless the
 * configuration sets the number. An operator may have given a topic more lanes than the configuration says, so the lanes that this relay
 * drains count if there are more.
 */
export function relayConnections({ database, topics }: RelayConfig, draining: number): number {
  const lanes = topics.reduce((sum, topic) => sum + topic.rules.lanes, 0);
  return database.connections ?? Math.min(Math.max(lanes, draining), mostForLanes) + spareConnections;
}
