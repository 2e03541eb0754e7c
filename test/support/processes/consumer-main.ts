import pg from 'pg';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { clientOf } from '../../../src/consumer.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { configOf, numbered, writeEffect } from '../fixtures/inbox-stage.ts';
import { writeEffectByPool } from '../fixtures/pool-consumer.ts';
import { openPrisma } from '../fixtures/prisma.ts';
import type { ConsumerProcessSettings } from './consumer-process.ts';

// A consumer that kills itself at the n-th pass of a crash point; `consumer-process.ts` starts it with its settings.
const { address, brokers, byPool, crash, group, url } = JSON.parse(
  process.argv[2] ?? '',
) as ConsumerProcessSettings;
const topic = numbered(address);

crashAt(crash.point, { pass: crash.pass });
const options = { config: configOf(url, brokers, topic), group };
const made =
  byPool === true
    ? consumer(clientOf(new pg.Pool({ connectionString: url, max: 15 })), options).on(topic, (tx, message) =>
        writeEffectByPool(tx, 'process', message),
      )
    : consumer(openPrisma(url), options).on(topic, (tx, message) => writeEffect(tx, 'process', message));
await made.start();
