import { defineConfig, env } from 'temporal-outbox';
import { kafka } from 'temporal-outbox/transports';
import { stockAnswered } from '../contract.ts';
import { inventoryUrl } from '../databases.ts';

/** Of the relay that delivers what the Java program stores. */
export default defineConfig({
  database: { url: inventoryUrl },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [stockAnswered],
  transports: { kafka: kafka({ servers: env('KAFKA_BROKERS') }) },
});
