import { env } from '../../src/index.ts';
import { shopConfig } from './shop-config.ts';

// The demo holds the other end of this IPC channel. However the demo ends, its relay must not outlive it.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.channel?.unref();

/** The file that the demo passes to `temporal-outbox relay --config`. */
export default shopConfig({
  databaseUrl: env('DATABASE_URL'),
  temporalAddress: env('TEMPORAL_ADDRESS'),
  temporalNamespace: env('TEMPORAL_NAMESPACE'),
  kafkaBrokers: env('KAFKA_BROKERS'),
});
