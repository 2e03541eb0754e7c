import type { Duration } from '../../../core/duration.ts';
import type { ReadTable, Table } from '../../../core/options/collections.ts';
import { duration, whole } from '../../../core/options/values.ts';
import { type RedisServer, type RedisServerOptions, serverOptions } from '../client/redis-server.ts';

/** How to reach Redis, and how long to wait for it. */
export interface RedisOptions extends RedisServerOptions {
  /**
   * How long the server may take to answer, 100 ms to 2 min. A message without an answer by then may have been stored.
   * @defaultValue `'5s'`
   */
  readonly requestTimeout?: Duration;
}

/** How many replicas must store a message before it is acknowledged. */
export interface ReplicaOptions {
  /**
   * How many replicas must have received a message before it is acknowledged, 0 to 100, by the command WAIT. With fewer in
   * time it is ambiguous: it is stored, sent again, and counts as an attempt. To stop sending instead, set
   * `min-replicas-to-write` on the server, which causes a hold. @defaultValue 0: only the primary
   */
  readonly replicas?: number;
  /** How long the replicas may take, 10 ms to 1 min. @defaultValue `'1s'` */
  readonly replicaTimeout?: Duration;
}

/** A server and how long to wait for it, validated. */
export interface RedisSettings {
  readonly server: RedisServer;
  readonly requestTimeoutMs: number;
}

/** How many replicas to wait for, and how long. */
export interface ReplicaRules {
  readonly count: number;
  readonly timeoutMs: number;
}

/** The table of {@link RedisOptions}. */
export const redisOptions = {
  ...serverOptions,
  requestTimeout: duration('100ms', '2 min', '5s'),
} satisfies Table<RedisOptions>;

/** The table of {@link ReplicaOptions}. */
export const replicaOptions = {
  replicas: whole(0, 100, 0),
  replicaTimeout: duration('10ms', '1 min', '1s'),
} satisfies Table<ReplicaOptions>;

/** `undefined`: no replica is waited for. */
export function replicaRules({
  replicas,
  replicaTimeout,
}: ReadTable<typeof replicaOptions>): ReplicaRules | undefined {
  return replicas === 0 ? undefined : { count: replicas, timeoutMs: replicaTimeout };
}
