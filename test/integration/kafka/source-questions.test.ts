import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import type { IncomingBatch, Subscribed } from '../../../src/brokers/source.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const brokers = inject('kafkaBrokers');
const kafka = observer(brokers);
const source = kafkaSource(kafkaConnection(brokers));

async function topicWith(settings: Readonly<Record<string, string>>): Promise<string> {
  return createTopic(kafka, {
    configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
  });
}

async function publish(topic: string, partitions: readonly number[]): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({
    topic,
    messages: partitions.map((partition, n) => ({ partition, value: String(n) })),
  });
  await producer.disconnect();
}

async function subscribe(
  topic: string,
  group: string,
  handle: (batch: IncomingBatch) => Promise<void>,
): Promise<Subscribed> {
  const subscribed = await source.subscribe({
    addresses: [topic],
    group,
    concurrency: 4,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 100,
    handle,
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  onTestFinished(() => subscribed.stop());
  return subscribed;
}

test('the redelivery period is the longest retention of the topics, and infinite where one keeps everything or only compacts', async () => {
  const hour = await topicWith({ 'retention.ms': '3600000' });
  const day = await topicWith({ 'retention.ms': '86400000' });
  const kept = await topicWith({ 'retention.ms': '-1' });
  const compacted = await topicWith({ 'cleanup.policy': 'compact', 'retention.ms': '3600000' });

  expect(await source.redeliveryPeriodMs([hour])).toBe(3_600_000);
  expect(await source.redeliveryPeriodMs([hour, day])).toBe(86_400_000);
  expect(await source.redeliveryPeriodMs([hour, kept])).toBe(Number.POSITIVE_INFINITY);
  expect(await source.redeliveryPeriodMs([day, compacted])).toBe(Number.POSITIVE_INFINITY);
  await expect(source.redeliveryPeriodMs([`missing-${randomUUID()}`])).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
  });
});

test('a batch that takes longer than its share of time ends early, and its rest is offered again behind it', async () => {
  const topic = await createTopic(kafka);
  await publish(
    topic,
    Array.from({ length: 40 }, () => 0),
  );
  const begun: string[] = [];
  let batches = 0;
  await subscribe(topic, `group-${randomUUID()}`, async (batch) => {
    batches += 1;
    for (const message of batch.messages) {
      if (!batch.mayBegin()) return;
      begun.push(message.offset);
      await new Promise((resolve) => setTimeout(resolve, 50));
      batch.acknowledge(message);
    }
  });
  await until(() => begun.length >= 40);
  expect(begun).toEqual(Array.from({ length: 40 }, (_, n) => String(n)));
  expect(batches).toBeGreaterThan(1);
});

test('a batch whose share of time ends before its first message begins advances by one message', async () => {
  const topic = await createTopic(kafka);
  await publish(topic, [0, 0]);
  const begun: string[][] = [];
  await subscribe(topic, `group-${randomUUID()}`, async (batch) => {
    const those: string[] = [];
    begun.push(those);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    for (const message of batch.messages) {
      if (!batch.mayBegin()) return;
      those.push(message.offset);
      batch.acknowledge(message);
    }
  });
  await until(() => begun.flat().length >= 2);
  expect(begun).toEqual([['0'], ['1']]);
});
