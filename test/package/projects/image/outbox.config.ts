import { defineConfig, env, topic } from 'temporal-outbox';
import { kafka } from 'temporal-outbox/transports';
import { z } from 'zod';

const orders = topic('orders', z.object({ n: z.number() }), {
  address: process.env['ORDERS_ADDRESS'] ?? 'orders',
});

export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS') },
  topics: [orders],
  transports: { kafka: kafka({ servers: env('KAFKA_BROKERS') }) },
});
