import ms from 'ms';
import type { Duration } from '../core/duration.ts';
import { object, type Table } from '../core/options/collections.ts';
import { duration, whole } from '../core/options/values.ts';
import {
  type BatchLimits,
  defaultBatchLimits,
  defaultIntervals,
  defaultTimings,
  type MaintenanceIntervals,
  type RelayTimings,
} from '../relay/timings.ts';
import type { Setting } from '../store/installation/settings.ts';
import { readConfig } from './read-config.ts';

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

const kib = 1_024;
const {
  drainTimeoutMs,
  laneIdleTimeoutMs,
  lookIntervalMs,
  idleLookIntervalMs,
  checkIntervalMs,
  probeIntervalMs,
} = defaultTimings;

/** The setting `relay`. */
export const relayOptions = object({
  batchMessages: whole(1, 10_000, defaultBatchLimits.messages),
  batchBytes: whole(64 * kib, 256 * kib * kib, defaultBatchLimits.bytes),
  drainTimeout: duration('100ms', '1 min', drainTimeoutMs),
  laneIdleTimeout: duration(0, '1 min', laneIdleTimeoutMs),
  lookInterval: duration('1ms', '1s', lookIntervalMs),
  idleLookInterval: duration('1ms', '1 min', idleLookIntervalMs),
  checkInterval: duration('10ms', '1 min', checkIntervalMs),
  probeInterval: duration('10ms', '1 min', probeIntervalMs),
  reconcileInterval: duration('1s', '1 day', defaultIntervals.reconcileIntervalMs),
  archiveInterval: duration('1s', '1 day', defaultIntervals.archiveIntervalMs),
  scheduleCheckInterval: duration('10ms', '1 day', defaultIntervals.scheduleCheckIntervalMs),
} satisfies Table<RelaySettings>);

export interface ResolvedRelaySettings {
  readonly timings: RelayTimings;
  readonly limits: BatchLimits;
  readonly intervals: MaintenanceIntervals;
  /** The same in words, as stored for operators. */
  readonly settings: readonly Setting[];
}

/** @throws OutboxError `OUTBOX_CONFIG_INVALID` naming every wrong setting and its range */
export function resolveRelaySettings(given: RelaySettings = {}): ResolvedRelaySettings {
  const { batchBytes, batchMessages, ...durations } = readConfig(relayOptions, given, 'relay');
  return {
    timings: {
      drainTimeoutMs: durations.drainTimeout,
      laneIdleTimeoutMs: durations.laneIdleTimeout,
      lookIntervalMs: durations.lookInterval,
      idleLookIntervalMs: durations.idleLookInterval,
      checkIntervalMs: durations.checkInterval,
      probeIntervalMs: durations.probeInterval,
      stuckAfterMs: defaultTimings.stuckAfterMs,
    },
    intervals: {
      reconcileIntervalMs: durations.reconcileInterval,
      archiveIntervalMs: durations.archiveInterval,
      scheduleCheckIntervalMs: durations.scheduleCheckInterval,
    },
    limits: { messages: batchMessages, bytes: batchBytes },
    settings: [
      { name: 'relay.batchBytes', value: `${batchBytes} bytes` },
      { name: 'relay.batchMessages', value: `${batchMessages} messages` },
      ...Object.entries(durations).map(([name, time]) => ({ name: `relay.${name}`, value: ms(time) })),
    ],
  };
}
