import { consumer } from '../../../src/config/consumer.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { configOf, numbered, writeEffect } from '../fixtures/inbox-stage.ts';
import { openPrisma } from '../fixtures/prisma.ts';
import type { ConsumerProcessSettings } from './consumer-process.ts';

// A consumer that kills itself at the n-th pass of a crash point; `consumer-process.ts` starts it and says how.
const { address, brokers, crash, group, url } = JSON.parse(process.argv[2] ?? '') as ConsumerProcessSettings;
const topic = numbered(address);

crashAt(crash.point, { pass: crash.pass });
await consumer(openPrisma(url), { config: configOf(url, brokers, topic), group })
  .on(topic, (tx, message) => writeEffect(tx, 'process', message))
  .start();
