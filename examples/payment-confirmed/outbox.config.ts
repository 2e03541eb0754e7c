import { defineConfig, env } from 'temporal-outbox';
import { connect } from './broker.ts';
import { tellPerson } from './tell-person.ts';
import { paymentMade, personTold } from './topics.ts';

export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [paymentMade, personTold],
  onFailed: tellPerson,
  transports: { broker: connect() },
});
