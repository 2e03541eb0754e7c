import { consumer } from '../../../src/config/consumer.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { rocketmq } from '../../../src/transports.ts';
import { numbered, writeEffect } from '../fixtures/inbox-stage.ts';
import { openPrisma } from '../fixtures/prisma.ts';
import type { RocketmqConsumerSettings } from './rocketmq-consumer-process.ts';

// A consumer of RocketMQ that kills itself at the n-th pass of a crash point; `rocketmq-consumer-process.ts` starts it.
const { address, crash, databaseUrl, group, options } = JSON.parse(
  process.argv[2] ?? '',
) as RocketmqConsumerSettings;
const topic = numbered(address);

crashAt(crash.point, { pass: crash.pass });
const config = {
  database: { url: databaseUrl },
  temporal: {},
  topics: [topic],
  transports: { rocketmq: rocketmq(options) },
};
await consumer(openPrisma(databaseUrl, { max: 15 }), { config, group })
  .on(topic, (tx, message) => writeEffect(tx, 'killed', message))
  .start();
