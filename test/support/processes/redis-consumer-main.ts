import { consumer } from '../../../src/config/consumer.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { numbered, writeEffect } from '../fixtures/inbox-stage.ts';
import { openPrisma } from '../fixtures/prisma.ts';
import { type RedisConsumerSettings, redisTransport } from './redis-consumer-process.ts';

// A consumer of Redis that kills itself at the n-th pass of a crash point; `redis-consumer-process.ts` starts it.
const settings = JSON.parse(process.argv[2] ?? '') as RedisConsumerSettings;
const { address, crash, group, kind, redisUrl, url } = settings;
const topic = numbered(address);

crashAt(crash.point, { pass: crash.pass });
const config = {
  database: { url },
  temporal: {},
  topics: [topic],
  transports: { redis: redisTransport(kind, redisUrl) },
};
await consumer(openPrisma(url, { max: 15 }), { config, group })
  .on(topic, (tx, message) => writeEffect(tx, 'killed', message))
  .start();
