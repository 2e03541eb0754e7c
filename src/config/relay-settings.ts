import ms from 'ms';
import { type Duration, durationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import {
  type BatchLimits,
  defaultBatchLimits,
  defaultIntervals,
  defaultTimings,
  type MaintenanceIntervals,
  type RelayTimings,
} from '../relay/timings.ts';
import type { Setting } from '../store/installation/settings.ts';

/** The relay's durations and limits. Most relays need no other values. */
export interface RelaySettings {
  /** Messages of one batch, 1 to 10,000. @defaultValue 2,000 */
  readonly batchMessages?: number;
  /** Bytes of the payloads and headers of one batch, 64 KiB to 256 MiB; a larger single message goes alone. @defaultValue 16 MiB */
  readonly batchBytes?: number;
  /**
   * How long a drain may keep a busy lane before it gives it back, 100 ms to 60 s (its activity may take 90 s). Each takes half
   * of it to all of it, so that lanes do not end together. @defaultValue `'60s'`
   */
  readonly drainTimeout?: Duration;
  /** How long a lane must be empty before its drain calls it quiet, 0 to 60 s. @defaultValue `'5s'` */
  readonly laneIdleTimeout?: Duration;
  /** Between looks at the outbox while messages arrive, 1 ms to 1 s. @defaultValue `'10ms'` */
  readonly lookInterval?: Duration;
  /** Between looks after five seconds without a message, 1 ms to 60 s. @defaultValue `'100ms'` */
  readonly idleLookInterval?: Duration;
  /** Between full checks that every lane with work and every waiting message has its workflow, 10 ms to 60 s. @defaultValue `'1s'` */
  readonly checkInterval?: Duration;
  /** Between probes of a topic on hold, 10 ms to 60 s; a hold ends that long after its cause. @defaultValue `'1s'` */
  readonly probeInterval?: Duration;
  /** Between comparisons of rows with workflows, 1 s to 1 day. @defaultValue `'1m'` */
  readonly reconcileInterval?: Duration;
  /** Between runs that move finished messages to the history, 1 s to 1 day. @defaultValue `'5m'` */
  readonly archiveInterval?: Duration;
  /** Between checks that the schedules of these two exist, 10 ms to 1 day. @defaultValue `'1m'` */
  readonly scheduleCheckInterval?: Duration;
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly normal: number;
}

const minute = 60_000;
const day = 24 * 60 * minute;
const mebibyte = 1024 * 1024;

/** Milliseconds. */
const durations = {
  drainTimeout: { from: 100, to: minute, normal: defaultTimings.drainTimeoutMs },
  laneIdleTimeout: { from: 0, to: minute, normal: defaultTimings.laneIdleTimeoutMs },
  lookInterval: { from: 1, to: 1_000, normal: defaultTimings.lookIntervalMs },
  idleLookInterval: { from: 1, to: minute, normal: defaultTimings.idleLookIntervalMs },
  checkInterval: { from: 10, to: minute, normal: defaultTimings.checkIntervalMs },
  probeInterval: { from: 10, to: minute, normal: defaultTimings.probeIntervalMs },
  reconcileInterval: { from: 1_000, to: day, normal: defaultIntervals.reconcileIntervalMs },
  archiveInterval: { from: 1_000, to: day, normal: defaultIntervals.archiveIntervalMs },
  scheduleCheckInterval: { from: 10, to: day, normal: defaultIntervals.scheduleCheckIntervalMs },
} as const satisfies Record<string, Range>;

type DurationName = keyof typeof durations;
const durationNames = Object.keys(durations).filter((name): name is DurationName => name in durations);

const counts = {
  batchMessages: { from: 1, to: 10_000, normal: defaultBatchLimits.messages },
  batchBytes: { from: 64 * 1024, to: 256 * mebibyte, normal: defaultBatchLimits.bytes },
} as const satisfies Record<string, Range>;

export interface ResolvedRelaySettings {
  readonly timings: RelayTimings;
  readonly limits: BatchLimits;
  readonly intervals: MaintenanceIntervals;
  /** The same in words, as stored for operators. */
  readonly settings: readonly Setting[];
}

/** @throws OutboxError `OUTBOX_CONFIG_INVALID` naming the setting and its range */
export function resolveRelaySettings(given: RelaySettings = {}): ResolvedRelaySettings {
  const duration = (name: DurationName): number =>
    within(name, durationMs(given[name] ?? durations[name].normal), durations[name], (value) => ms(value));
  const count = (name: keyof typeof counts): number =>
    within(name, given[name] ?? counts[name].normal, counts[name], String);
  const timings = {
    drainTimeoutMs: duration('drainTimeout'),
    laneIdleTimeoutMs: duration('laneIdleTimeout'),
    lookIntervalMs: duration('lookInterval'),
    idleLookIntervalMs: duration('idleLookInterval'),
    checkIntervalMs: duration('checkInterval'),
    probeIntervalMs: duration('probeInterval'),
    stuckAfterMs: defaultTimings.stuckAfterMs,
  };
  const intervals = {
    reconcileIntervalMs: duration('reconcileInterval'),
    archiveIntervalMs: duration('archiveInterval'),
    scheduleCheckIntervalMs: duration('scheduleCheckInterval'),
  };
  const limits = { messages: count('batchMessages'), bytes: count('batchBytes') };
  const settings = [
    { name: 'relay.batchBytes', value: `${limits.bytes} bytes` },
    { name: 'relay.batchMessages', value: `${limits.messages} messages` },
    ...durationNames.map((name) => ({ name: `relay.${name}`, value: ms(duration(name)) })),
  ];
  return { timings, limits, intervals, settings };
}

function within(
  name: string,
  value: number | undefined,
  { from, to }: Range,
  words: (value: number) => string,
): number {
  if (value !== undefined && Number.isInteger(value) && value >= from && value <= to) return value;
  throw new OutboxError(
    'OUTBOX_CONFIG_INVALID',
    `The setting relay.${name} is not between ${words(from)} and ${words(to)}.`,
    { details: { setting: `relay.${name}`, from, to } },
  );
}
