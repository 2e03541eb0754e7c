import { consumer } from '../../../src/app/consumer/consumer.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { numbered, writeEffect } from '../fixtures/inbox-stage.ts';
import { openPrisma } from '../fixtures/prisma.ts';
import { type KilledConsumerSettings, transportAt } from './killed-consumer.ts';

// A consumer that kills itself at the n-th pass of a crash point; `killed-consumer.ts` starts it.
const settings = JSON.parse(process.argv[2] ?? '') as KilledConsumerSettings;
const { address, crash, databaseUrl, group, place } = settings;
const topic = numbered(address);

crashAt(crash.point, { pass: crash.pass });
const config = {
  database: { url: databaseUrl },
  temporal: {},
  topics: [topic],
  transports: { only: transportAt(place) },
};
await consumer(openPrisma(databaseUrl, { max: 15 }), { config, group })
  .on(topic, (tx, message) => writeEffect(tx, 'killed', message))
  .start();
