import { env } from '../index.ts';
import { shopConfig } from './shop-config.ts';

// The demo is at the other end of this channel. However it ends, its relay must not outlive it.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.channel?.unref();

/** What `temporal-outbox relay --config` loads when the demo starts it. */
export default shopConfig({
  databaseUrl: env('DATABASE_URL'),
  temporalAddress: env('TEMPORAL_ADDRESS'),
  temporalNamespace: env('TEMPORAL_NAMESPACE'),
  kafkaBrokers: env('KAFKA_BROKERS'),
});
