import { defineConfig, env } from 'temporal-outbox';
import { kafka } from 'temporal-outbox/transports';
import { tellPerson } from './tell-person.ts';
import { paymentMade, personTold } from './topics.ts';

export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [paymentMade, personTold],
  onFailed: tellPerson,
  // A consumer that was killed gives its partitions back after the shortest time that Kafka allows.
  transports: { kafka: kafka({ servers: env('KAFKA_BROKERS'), consumers: { sessionTimeout: '6s' } }) },
});
