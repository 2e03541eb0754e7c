import ms from 'ms';
import type { Duration } from '../core/duration.ts';
import { object, type Table } from '../core/options/collections.ts';
import { duration, whole } from '../core/options/values.ts';
import { type BatchLimits, defaultBatchLimits, defaultTimings, type RelayTimings } from '../relay/timings.ts';
import type { Setting } from '../store/installation/settings.ts';
import { readConfig } from './read-config.ts';

/** What a relay takes at once, and how often it looks at the outbox. Most relays need no other values. */
export interface RelaySettings {
  /** Messages of one batch, 1 to 10,000. @defaultValue 2,000 */
  readonly batchMessages?: number;
  /** Bytes of the payloads and headers of one batch, 64 KiB to 256 MiB; a larger single message goes alone. @defaultValue 16 MiB */
  readonly batchBytes?: number;
  /** Between looks at the outbox while messages arrive, 1 ms to 1 s. @defaultValue `'10ms'` */
  readonly lookInterval?: Duration;
  /** Between looks after five seconds without a message, 1 ms to 60 s. @defaultValue `'100ms'` */
  readonly idleLookInterval?: Duration;
}

const kib = 1_024;

/** Settings of earlier versions; relays keep to what was their default. */
const formerSettings: readonly string[] = [
  'archiveInterval',
  'checkInterval',
  'drainTimeout',
  'laneIdleTimeout',
  'probeInterval',
  'reconcileInterval',
  'scheduleCheckInterval',
];

/** The setting `relay`. */
export const relayOptions = object(
  {
    batchMessages: whole(1, 10_000, defaultBatchLimits.messages),
    batchBytes: whole(64 * kib, 256 * kib * kib, defaultBatchLimits.bytes),
    lookInterval: duration('1ms', '1s', defaultTimings.lookIntervalMs),
    idleLookInterval: duration('1ms', '1 min', defaultTimings.idleLookIntervalMs),
  } satisfies Table<RelaySettings>,
  'an object',
  formerSettings,
);

export interface ResolvedRelaySettings {
  readonly timings: RelayTimings;
  readonly limits: BatchLimits;
  /** The same in words, as stored for operators. */
  readonly settings: readonly Setting[];
}

/**
 * @param timings in place of the settings, and of the times that no setting has
 * @throws OutboxError `OUTBOX_CONFIG_INVALID` naming every wrong setting and its range
 */
export function resolveRelaySettings(
  given: RelaySettings = {},
  timings: Partial<RelayTimings> = {},
): ResolvedRelaySettings {
  const { batchBytes, batchMessages, idleLookInterval, lookInterval } = readConfig(
    relayOptions,
    given,
    'relay',
  );
  return {
    timings: {
      ...defaultTimings,
      lookIntervalMs: lookInterval,
      idleLookIntervalMs: idleLookInterval,
      ...timings,
    },
    limits: { messages: batchMessages, bytes: batchBytes },
    settings: [
      { name: 'relay.batchBytes', value: `${batchBytes} bytes` },
      { name: 'relay.batchMessages', value: `${batchMessages} messages` },
      { name: 'relay.lookInterval', value: ms(lookInterval) },
      { name: 'relay.idleLookInterval', value: ms(idleLookInterval) },
    ],
  };
}
