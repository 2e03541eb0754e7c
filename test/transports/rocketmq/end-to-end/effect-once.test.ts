import { expect, inject, onTestFinished, test } from 'vitest';
import { consumer } from '../../../../src/config/consumer.ts';
import { sendBatch } from '../../../../src/outbox/send.ts';
import { rocketmq } from '../../../../src/transports.ts';
import { openFaultStage } from '../../../support/faults/fault-stage.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { numbered, range, writeEffect } from '../../../support/fixtures/inbox-stage.ts';
import { openPrisma } from '../../../support/fixtures/prisma.ts';
import { until } from '../../../support/fixtures/until.ts';
import { runRocketmqConsumer } from '../../../support/processes/rocketmq-consumer-process.ts';
import { admin, options as given, newTopic } from '../rocketmq-stage.ts';

const keys = 3;
const count = 150;
const group = 'billing';
const options = { ...given, invisibleTime: '10s' } as const;

test('F17: over RocketMQ each effect happens once and in order, although a consumer dies before it acknowledges', async () => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  await made.database.query('create table effect (seq bigserial, n int, part int, consumer text)');
  const address = await newTopic('FIFO', 2);
  await admin.createGroup(group, true);
  const topic = numbered(address);
  const stage = openFaultStage(
    { onTestFinished },
    { url: made.url, topics: [topic], transport: () => rocketmq(options) },
  );
  await stage.relay();
  const crash = { point: 'inbox:committed', pass: 20 } as const;
  const ended = runRocketmqConsumer({ options, databaseUrl: made.url, address, group, crash });
  await stage.commit((tx) =>
    sendBatch(
      tx,
      topic,
      range(1, count).map((n) => ({ payload: { n }, key: `key-${n % keys}` })),
    ),
  );
  expect(await ended).toBe('SIGKILL');

  const prisma = openPrisma(made.url, { max: 15 });
  onTestFinished(() => prisma.$disconnect());
  const last = await consumer(prisma, {
    config: {
      database: { url: made.url },
      temporal: { address: inject('temporalAddress') },
      topics: [topic],
      transports: { rocketmq: rocketmq(options) },
    },
    group,
    keyConcurrency: 1,
    logger: false,
  })
    .on(topic, (tx, message) => writeEffect(tx, 'last', message))
    .start();
  onTestFinished(() => last.stop());

  const effects = (): Promise<readonly { readonly n: number; readonly consumer: string }[]> =>
    made.database.query('select n, consumer from effect order by seq');
  await until(async () => (await effects()).length >= count, 50_000);
  await stage.untilDone();
  const found = await effects();
  expect(found.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(range(1, count));
  expect(new Set(found.map((row) => row.consumer))).toEqual(new Set(['killed', 'last']));
  for (let key = 0; key < keys; key += 1) {
    const row = found.map(({ n }) => n).filter((n) => n % keys === key);
    expect(row).toEqual(row.toSorted((a, b) => a - b));
  }
  // What was committed and not acknowledged came again.
  expect(last.counts().duplicates).toBeGreaterThan(0);
}, 90_000);
