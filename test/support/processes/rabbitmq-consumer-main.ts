import { consumer } from '../../../src/config/consumer.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { rabbitmq } from '../../../src/transports.ts';
import { numbered, writeEffect } from '../fixtures/inbox-stage.ts';
import { openPrisma } from '../fixtures/prisma.ts';
import type { RabbitmqConsumerSettings } from './rabbitmq-consumer-process.ts';

// A consumer of RabbitMQ that kills itself at the n-th pass of a crash point; `rabbitmq-consumer-process.ts` starts it.
const { address, crash, databaseUrl, group, url } = JSON.parse(
  process.argv[2] ?? '',
) as RabbitmqConsumerSettings;
const topic = numbered(address);

crashAt(crash.point, { pass: crash.pass });
const config = {
  database: { url: databaseUrl },
  temporal: {},
  topics: [topic],
  transports: { rabbitmq: rabbitmq({ url }) },
};
await consumer(openPrisma(databaseUrl, { max: 15 }), { config, group })
  .on(topic, (tx, message) => writeEffect(tx, 'killed', message))
  .start();
