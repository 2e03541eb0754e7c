import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { consumer } from '../../../../src/config/consumer.ts';
import { sendBatch } from '../../../../src/outbox/send.ts';
import { rabbitmq } from '../../../../src/transports.ts';
import { startFaultProxy } from '../../../support/faults/fault-proxy.ts';
import { openFaultStage } from '../../../support/faults/fault-stage.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { numbered, range, writeEffect } from '../../../support/fixtures/inbox-stage.ts';
import { openPrisma } from '../../../support/fixtures/prisma.ts';
import { until } from '../../../support/fixtures/until.ts';
import { runRabbitmqConsumer } from '../../../support/processes/rabbitmq-consumer-process.ts';
import { brokerAt } from '../broker.ts';

const keys = 3;
const count = 150;
const group = 'billing';
const url = inject('rabbitmqUrl');

test('F17: over RabbitMQ each effect happens once and in order, although connections break and a consumer dies before it acknowledges', async () => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  await made.database.query('create table effect (seq bigserial, n int, part int, consumer text)');
  const { host } = new URL(url);
  const proxy = await startFaultProxy(host);
  onTestFinished(() => proxy.close());
  const broker = await brokerAt(url);
  onTestFinished(() => broker.close());
  const address = `orders-${randomUUID()}`;
  await broker.channel.assertExchange(address, 'topic');
  const topic = numbered(address);
  const fragile = url.replace(host, proxy.address);
  const stage = openFaultStage(
    { onTestFinished },
    { url: made.url, topics: [topic], transport: () => rabbitmq({ url: fragile }) },
  );
  await stage.relay();

  // The consumer makes its queue; until then every message is refused.
  const crash = { point: 'inbox:committed', pass: 20 } as const;
  const ended = runRabbitmqConsumer({ url, databaseUrl: made.url, address, group, crash });
  await until(() =>
    broker.model.createChannel().then(async (channel) => {
      channel.on('error', () => undefined);
      await channel.checkQueue(`${address}.${group}`);
      await channel.close();
      return true;
    }),
  );
  // Answers to confirmations and deliveries get lost while they are under way.
  proxy.inject({ kind: 'cut', of: 'replies', afterBytes: 300 });
  await stage.commit((tx) =>
    sendBatch(
      tx,
      topic,
      range(1, count).map((n) => ({ payload: { n }, key: `key-${n % keys}` })),
    ),
  );
  expect(await ended).toBe('SIGKILL');
  await until(() => proxy.fired('cut') > 1);
  proxy.heal();
  const prisma = openPrisma(made.url, { max: 15 });
  onTestFinished(() => prisma.$disconnect());
  const last = await consumer(prisma, {
    config: {
      database: { url: made.url },
      temporal: { address: inject('temporalAddress') },
      topics: [topic],
      transports: { rabbitmq: rabbitmq({ url: fragile }) },
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
  await until(async () => (await effects()).length >= count);
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
});
