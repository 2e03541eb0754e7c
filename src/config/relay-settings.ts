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

/** The relay's own durations and limits. Most relays leave them alone. */
export interface RelaySettings {
  /** Messages of one batch, 1 to 10,000. @defaultValue 2,000 */
  readonly batchMessages?: number;
  /** Payload bytes of one batch, 64 KiB to 256 MiB; a larger single message goes alone. @defaultValue 16 MiB */
  readonly batchBytes?: number;
  /** Longest run of a drain before it hands its lane back, 100 ms to 60 s (its activity may take 90 s). @defaultValue `'60s'` */
  readonly run?: Duration;
  /** How long a drain waits for more before its lane is quiet, 0 to 60 s. @defaultValue `'5s'` */
  readonly linger?: Duration;
  /** Between looks at the outbox while messages come, 1 ms to 1 s. @defaultValue `'10ms'` */
  readonly hotLook?: Duration;
  /** Between looks when none came for five seconds, 1 ms to 60 s. @defaultValue `'100ms'` */
  readonly idleLook?: Duration;
  /** Between full checks by the starter, 10 ms to 60 s. @defaultValue `'1s'` */
  readonly check?: Duration;
  /** Between probes of a topic on hold, 10 ms to 60 s; a hold ends that long after its cause. @defaultValue `'1s'` */
  readonly probe?: Duration;
  /** Between comparisons of rows with workflows, 1 s to 1 day. @defaultValue `'1m'` */
  readonly reconcile?: Duration;
  /** Between runs that move finished messages to the history, 1 s to 1 day. @defaultValue `'5m'` */
  readonly archive?: Duration;
  /** Between looks whether the schedules of these two are there, 10 ms to 1 day. @defaultValue `'1m'` */
  readonly scheduleCheck?: Duration;
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
  run: { from: 100, to: minute, normal: defaultTimings.runMs },
  linger: { from: 0, to: minute, normal: defaultTimings.lingerMs },
  hotLook: { from: 1, to: 1_000, normal: defaultTimings.hotLookMs },
  idleLook: { from: 1, to: minute, normal: defaultTimings.idleLookMs },
  check: { from: 10, to: minute, normal: defaultTimings.checkMs },
  probe: { from: 10, to: minute, normal: defaultTimings.probeMs },
  reconcile: { from: 1_000, to: day, normal: defaultIntervals.reconcileEveryMs },
  archive: { from: 1_000, to: day, normal: defaultIntervals.archiveEveryMs },
  scheduleCheck: { from: 10, to: day, normal: defaultIntervals.checkEveryMs },
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
  /** The same in words, to be looked up by operators. */
  readonly settings: readonly Setting[];
}

/** @throws OutboxError `OUTBOX_CONFIG_INVALID` naming the setting and its range */
export function resolveRelaySettings(given: RelaySettings = {}): ResolvedRelaySettings {
  const duration = (name: DurationName): number =>
    within(name, durationMs(given[name] ?? durations[name].normal), durations[name], (value) => ms(value));
  const count = (name: keyof typeof counts): number =>
    within(name, given[name] ?? counts[name].normal, counts[name], String);
  const timings = {
    runMs: duration('run'),
    lingerMs: duration('linger'),
    hotLookMs: duration('hotLook'),
    idleLookMs: duration('idleLook'),
    checkMs: duration('check'),
    probeMs: duration('probe'),
  };
  const intervals = {
    reconcileEveryMs: duration('reconcile'),
    archiveEveryMs: duration('archive'),
    checkEveryMs: duration('scheduleCheck'),
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
