import { defineConfig, env } from 'temporal-outbox';
import { kafka } from 'temporal-outbox/transports';
import { deductStock, stockAnswered } from '../contract.ts';
import { shopUrl } from '../databases.ts';

/** Sends what is to be deducted, and consumes the answers. */
export default defineConfig({
  database: { url: shopUrl },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [deductStock, stockAnswered],
  transports: { kafka: kafka({ servers: env('KAFKA_BROKERS') }) },
});
