import { defineConfig, env } from 'temporal-outbox';
import { redisList, redisPubSub, redisStream } from 'temporal-outbox/transports';
import { toChannel, toList, toSlow, toStream } from './topics.ts';

const url = env('REDIS_URL');

export default defineConfig({
  database: { url: env('DATABASE_URL') },
  temporal: { address: env('TEMPORAL_ADDRESS', 'localhost:7233') },
  topics: [toList, toChannel, toStream, toSlow],
  transports: {
    list: redisList({ url }),
    channel: redisPubSub({ url, requireReceivers: true }),
    stream: redisStream({ url }),
  },
});
