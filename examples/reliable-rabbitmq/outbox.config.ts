import { defineConfig, env } from 'temporal-outbox';
import { rabbitmq } from 'temporal-outbox/transports';
import { tellPerson } from './tell-person.ts';
import { orderPlaced, personTold } from './topics.ts';

export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [orderPlaced, personTold],
  onFailed: tellPerson,
  transports: { rabbitmq: rabbitmq({ url: env('RABBITMQ_URL') }) },
});
