import { z } from 'zod';
import { metricsServer } from '../../../src/app/relay/metrics-server.ts';
import { startTimedRelay } from '../../../src/app/relay/start-relay.ts';
import type { RelayConfig } from '../../../src/config/config.ts';
import { type TopicOptions, topic } from '../../../src/core/topic.ts';
import type { RelayTimings } from '../../../src/relay/timings.ts';
import { type HttpOptions, http, kafka } from '../../../src/transports.ts';

/** A relay that serves its metrics, for a story of alerts. */
export interface StoryRelaySettings extends Pick<RelayConfig, 'alerts' | 'database' | 'temporal'> {
  /** Without schemas: a relay never reads a payload. */
  readonly topics: readonly { readonly name: string; readonly options: TopicOptions }[];
  readonly brokers: string;
  /** Of its transport over HTTP, which sends nothing. */
  readonly tls: NonNullable<HttpOptions['tls']>;
  readonly timings: Partial<RelayTimings>;
  /** Where it serves its metrics, on 127.0.0.1. */
  readonly port: number;
}

const { brokers, port, timings, tls, topics, ...settings } = JSON.parse(
  process.argv[2] ?? '',
) as StoryRelaySettings;

// SIGUSR2 sets the clock that it reads a minute ahead, and back.
const now = Date.now;
let aheadMs = 0;
Date.now = () => now() + aheadMs;
process.on('SIGUSR2', () => (aheadMs = 60_000 - aheadMs));

const secret = `whsec_${btoa('a secret of twenty-four bytes')}`;
const serving = await metricsServer({ host: '127.0.0.1', port });
const relay = startTimedRelay(
  {
    ...settings,
    topics: topics.map(({ name, options }) => topic(name, z.unknown(), options)),
    transports: {
      kafka: kafka({ servers: brokers }),
      http: http({ secret, allow: ['127.0.0.1'], tls }),
    },
  },
  {},
  timings,
);
process.once('SIGTERM', () => void relay.stop());
await relay.ready;
process.stdout.write('delivering\n');
await relay.done;
await serving.stop();
