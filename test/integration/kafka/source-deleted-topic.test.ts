import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { expect, inject, test } from 'vitest';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import type { Subscribed } from '../../../src/brokers/source.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, deleteTopic, observer, untilServed } from '../../support/kafka/kafka-topic.ts';

const brokers = inject('kafkaBrokers');
const kafka = observer(brokers);
const paces = { lookAgainMs: 1_000 };

async function publish(client: Kafka, topic: string, ...texts: readonly string[]): Promise<void> {
  const producer = client.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic, messages: texts.map((value) => ({ value })) });
  await producer.disconnect();
}

async function makeAnew(topic: string): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
  await admin.disconnect();
  await untilServed(kafka, topic);
}

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

interface Received {
  readonly texts: string[];
  /** What was told as lost. */
  readonly told: { readonly error: unknown; readonly retryInMs: number }[];
  readonly subscribed: Subscribed;
}

async function receive(
  { onTestFinished }: TestEnd,
  addresses: readonly string[],
  fromBeginning: boolean,
): Promise<Received> {
  const texts: string[] = [];
  const told: { readonly error: unknown; readonly retryInMs: number }[] = [];
  const subscribed = await kafkaSource(kafkaConnection(brokers), paces).subscribe({
    addresses,
    group: `group-${randomUUID()}`,
    concurrency: 4,
    fromBeginning,
    joinWithinMs: 30_000,
    batchSize: 100,
    async handle(batch) {
      for (const message of batch.messages) {
        texts.push(Buffer.from(message.body ?? '').toString());
        batch.acknowledge(message);
      }
    },
    assigned: () => undefined,
    disconnected: (error, retryInMs) => told.push({ error, retryInMs }),
  });
  onTestFinished(() => subscribed.stop());
  return { texts, told, subscribed };
}

test.concurrent('a deleted topic is reported and skipped, the others continue, and it is received again once it exists', {}, async (context) => {
  const healthy = await createTopic(kafka);
  const deleted = await createTopic(kafka);
  const { texts, told } = await receive(context, [healthy, deleted], true);
  await publish(kafka, healthy, 'one');
  await publish(kafka, deleted, 'two');
  await until(() => texts.length === 2);

  await deleteTopic(kafka, deleted);
  const leftOut = () => told.find(({ error }) => String(error).includes('has no topic'));
  await until(() => leftOut() !== undefined, 60_000);
  await publish(kafka, healthy, 'three');
  await until(() => texts.includes('three'));
  expect(leftOut()).toMatchObject({
    error: { code: 'OUTBOX_ADDRESS_MISSING', details: { addresses: [deleted] } },
    retryInMs: paces.lookAgainMs,
  });

  await makeAnew(deleted);
  await publish(kafka, deleted, 'four');
  await until(() => texts.includes('four'), 60_000);
  // A membership that ends before it has committed lets the next one begin before its last messages.
  expect(new Set(texts)).toEqual(new Set(['four', 'one', 'three', 'two']));
});

for (const { others, when } of [
  { others: 0, when: 'while it is the only one' },
  { others: 1, when: 'while it is left out' },
])
  test.concurrent(`of a topic that is created again ${when}, a group that began at the newest messages misses none`, {
    timeout: 180_000,
  }, async (context) => {
    const topic = await createTopic(kafka);
    const beside = await Promise.all(Array.from({ length: others }, () => createTopic(kafka)));
    await publish(kafka, topic, 'before', 'before');
    const { texts, told } = await receive(context, [topic, ...beside], false);
    await publish(kafka, topic, 'one');
    await until(() => texts.includes('one'));

    await deleteTopic(kafka, topic);
    // At the second time, the first look at what exists has been.
    await until(() => told.length === 2, 60_000);
    await makeAnew(topic);
    await publish(kafka, topic, 'two', 'three', 'four', 'five');
    await until(() => texts.includes('five'), 60_000);
    expect(new Set(texts)).toEqual(new Set(['five', 'four', 'one', 'three', 'two']));
  });

test.concurrent('a topic missing at the start is reported at once by name and received once it exists', {
  tags: ['missing-topic-named'],
}, async ({ onTestFinished }) => {
  const [known, late] = [await createTopic(kafka), `late-${randomUUID()}`];
  const told: { readonly error: unknown }[] = [];
  const texts: string[] = [];
  const joining = kafkaSource(kafkaConnection(brokers)).subscribe({
    addresses: [known, late],
    group: `group-${randomUUID()}`,
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 60_000,
    batchSize: 1,
    async handle(batch) {
      for (const message of batch.messages) {
        texts.push(Buffer.from(message.body ?? '').toString());
        batch.acknowledge(message);
      }
    },
    assigned: () => undefined,
    disconnected: (error) => void told.push({ error }),
  });
  // kafkajs itself tries six times, for seconds, and then does not say which topic it was.
  await until(() => told.length > 0);
  expect(told[0]?.error).toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    message: expect.stringContaining(`has no topic ${late} `),
    next: expect.stringMatching(/^Create the named topics/),
    details: { addresses: [late] },
  });
  await makeAnew(late);
  await publish(kafka, late, 'one');
  const subscribed = await joining;
  onTestFinished(() => subscribed.stop());
  await until(() => texts.includes('one'));
});

test.concurrent('a topic that stays missing fails the first join with its name', async () => {
  const missing = `missing-${randomUUID()}`;
  const joining = kafkaSource(kafkaConnection(brokers)).subscribe({
    addresses: [missing],
    group: `group-${randomUUID()}`,
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 5_000,
    batchSize: 1,
    handle: async () => undefined,
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  await expect(joining).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    details: { addresses: [missing] },
  });
});
