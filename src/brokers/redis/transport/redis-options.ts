import { type Duration, durationMs } from '../../../core/duration.ts';
import { OutboxError } from '../../../core/errors.ts';
import { assertOptions } from '../../../core/options/option-table.ts';
import { toldValue } from '../../../core/options/told-value.ts';
import {
  type RedisServer,
  type RedisServerOptions,
  redisServer,
  serverOptionNames,
} from '../client/redis-server.ts';

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
  readonly replicasWithin?: Duration;
}

/** A server and how long to wait for it, validated. */
export interface RedisSettings {
  readonly server: RedisServer;
  readonly requestTimeoutMs: number;
}

/** How many replicas to wait for, and how long. */
export interface ReplicaRules {
  readonly count: number;
  readonly withinMs: number;
}

/**
 * Validates the options that all Redis transports share.
 *
 * @param maker for example `redisStream()`
 * @param others names of the other options of this transport
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function redisSettings(
  maker: string,
  options: RedisOptions,
  others: readonly string[],
): RedisSettings {
  assertOptions(maker, options, [...serverOptionNames, 'requestTimeout', ...others]);
  return {
    server: redisServer(maker, options),
    requestTimeoutMs: timeOf(maker, 'requestTimeout', options.requestTimeout ?? '5s', 100, 120_000),
  };
}

/** The names of {@link ReplicaOptions}. */
export const replicaOptionNames: readonly string[] = ['replicas', 'replicasWithin'];

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function replicaRules(
  maker: string,
  { replicas, replicasWithin }: ReplicaOptions,
): ReplicaRules | undefined {
  const count = replicas === undefined ? 0 : wholeOf(maker, 'replicas', replicas, 0, 100);
  const withinMs = timeOf(maker, 'replicasWithin', replicasWithin ?? '1s', 10, 60_000);
  return count === 0 ? undefined : { count, withinMs };
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` unless it is a whole number in this range */
export function wholeOf(maker: string, option: string, value: number, from: number, to: number): number {
  if (Number.isInteger(value) && value >= from && value <= to) return value;
  throw refused(maker, option, `must be a whole number from ${from} to ${to}`, value);
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` unless it is a duration in this range of milliseconds */
export function timeOf(maker: string, option: string, value: Duration, from: number, to: number): number {
  const ms = durationMs(value);
  if (ms !== undefined && ms >= from && ms <= to) return Math.ceil(ms);
  throw refused(maker, option, `must be a duration from ${from} to ${to} ms`, value);
}

function refused(maker: string, option: string, what: string, value: unknown): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option \`${option}\` of ${maker} ${what}.`, {
    details: { option, ...toldValue(value) },
  });
}
