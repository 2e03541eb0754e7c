import { defineConfig, env } from 'temporal-outbox';
import { http } from 'temporal-outbox/transports';
import { deductStock, personTold, secret } from '../contract.ts';
import { shopUrl } from '../databases.ts';
import { tellPerson } from './tell-person.ts';

export default defineConfig({
  database: { url: shopUrl },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [deductStock, personTold],
  onFailed: tellPerson,
  transports: { http: http({ secret, allow: ['127.0.0.1'] }) },
});
