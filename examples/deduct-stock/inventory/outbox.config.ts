import { defineConfig, env } from 'temporal-outbox';
import { http } from 'temporal-outbox/transports';
import { secret, stockAnswered } from '../contract.ts';
import { inventoryUrl } from '../databases.ts';

export default defineConfig({
  database: { url: inventoryUrl },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [stockAnswered],
  transports: { http: http({ secret, allow: ['127.0.0.1'] }) },
});
