// What the commands of the outbox read.
import { defineConfig } from 'temporal-outbox';
import { memoryBroker } from 'temporal-outbox/testing';
import { orderPlaced, orderShipped } from './shop.js';

export default defineConfig({
  database: { url: process.env['DATABASE_URL'] ?? '' },
  temporal: { address: process.env['TEMPORAL_ADDRESS'] ?? '' },
  topics: [orderPlaced, orderShipped],
  transports: { kafka: memoryBroker() },
});
