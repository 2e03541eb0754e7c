import { z } from 'zod';
import type { Transport } from '../brokers/transport.ts';
import { type Duration, durationMs } from '../core/duration.ts';
import { isTopic, type Topic } from '../core/topic.ts';
import { databaseShape } from './database-config.ts';
import type { RelaySettings } from './relay-settings.ts';
import { temporalShape } from './temporal-config.ts';

const isTransport = (value: unknown): value is Transport =>
  typeof value === 'object' && value !== null && 'publish' in value && 'probe' in value && 'close' in value;

const duration = z.custom<Duration>(
  (value) => (typeof value === 'number' || typeof value === 'string') && isDuration(value),
  'is not a duration',
);

function isDuration(value: number | string): value is Duration {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- any text may be asked about
  return durationMs(value as Duration) !== undefined;
}

/** The shape of a configuration. */
export const configShape = z.strictObject({
  database: databaseShape.optional(),
  temporal: temporalShape.optional(),
  topics: z.array(z.custom<Topic>(isTopic, 'is not a topic made by topic()')).min(1),
  transports: z.record(z.string().min(1), z.custom<Transport>(isTransport, 'is not a transport')),
  relay: z
    .strictObject({
      batchMessages: z.number().optional(),
      batchBytes: z.number().optional(),
      drainTimeout: duration.optional(),
      laneIdleTimeout: duration.optional(),
      lookInterval: duration.optional(),
      idleLookInterval: duration.optional(),
      checkInterval: duration.optional(),
      probeInterval: duration.optional(),
      reconcileInterval: duration.optional(),
      archiveInterval: duration.optional(),
      scheduleCheckInterval: duration.optional(),
    } satisfies Record<keyof RelaySettings, z.ZodType>)
    .optional(),
  // Checked by resolveRetention, which names the option.
  retention: z.looseObject({}).optional(),
});
