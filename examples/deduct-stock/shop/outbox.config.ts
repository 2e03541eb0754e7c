import { defineConfig, env } from 'temporal-outbox';
import { http } from 'temporal-outbox/transports';
import { deductStock, secret } from '../contract.ts';
import { shopUrl } from '../databases.ts';

export default defineConfig({
  database: { url: shopUrl },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [deductStock],
  transports: { http: http({ secret, allow: ['127.0.0.1'] }) },
});
