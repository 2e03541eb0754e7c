import { defineConfig, env } from 'temporal-outbox';
import { kafka } from 'temporal-outbox/transports';
import { bookingChanged } from './topics.ts';

export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [bookingChanged],
  transports: { kafka: kafka({ servers: env('KAFKA_BROKERS') }) },
});
