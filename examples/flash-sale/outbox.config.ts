import { defineConfig, env } from 'temporal-outbox';
import { redisStream } from 'temporal-outbox/transports';
import { orderCanceled, orderCreated, paymentDue, purchased } from './topics.ts';

export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [purchased, orderCreated, paymentDue, orderCanceled],
  transports: { redis: redisStream({ url: env('REDIS_URL') }) },
});
