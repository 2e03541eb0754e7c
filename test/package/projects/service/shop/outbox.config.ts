import { defineConfig, env } from 'temporal-outbox';
import { kafka } from 'temporal-outbox/transports';
import { orderPlaced, orderTimeout } from './topics.js';

export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS') },
  topics: [orderPlaced, orderTimeout],
  transports: { kafka: kafka({ servers: env('KAFKA_BROKERS') }) },
});
