import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import { kafka } from '../../../src/transports.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const brokers = inject('kafkaBrokers');
const client = observer(brokers);

test('the lag of a group has what waits in partitions where it has committed nothing, and none at an address it never read', {}, async () => {
  const [read, never] = [
    await createTopic(client, { numPartitions: 2 }),
    await createTopic(client, { numPartitions: 2 }),
  ];
  const [admin, producer] = [client.admin(), client.producer()];
  await Promise.all([admin.connect(), producer.connect()]);
  onTestFinished(async () => {
    await Promise.all([admin.disconnect(), producer.disconnect()]);
  });
  const fill = (topic: string, partition: number, count: number) =>
    producer.send({ topic, messages: Array.from({ length: count }, () => ({ partition, value: 'x' })) });
  await Promise.all([fill(read, 0, 3), fill(read, 1, 5), fill(never, 0, 2)]);
  const group = `billing-${randomUUID()}`;
  await admin.setOffsets({ groupId: group, topic: read, partitions: [{ partition: 0, offset: '1' }] });
  const lags = () => kafka({ servers: brokers }).offsets?.lags([group], [read, never]);

  expect(await lags()).toEqual([{ group, address: read, messages: 2 + 5 }]);

  // What retention has deleted cannot be read any more.
  await admin.deleteTopicRecords({
    topic: read,
    partitions: [
      { partition: 0, offset: '2' },
      { partition: 1, offset: '4' },
    ],
  });
  await expect.poll(lags, { timeout: 30_000 }).toEqual([{ group, address: read, messages: 1 + 1 }]);
});

test('the lag of a stopped group has what came to a topic of its consumers of which none ever handled a message', {}, async () => {
  const topic = await createTopic(client, { numPartitions: 3 });
  const producer = client.producer();
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  const fill = (partition: number, count: number) =>
    producer.send({ topic, messages: Array.from({ length: count }, () => ({ partition, value: 'x' })) });
  const group = `billing-${randomUUID()}`;
  const lags = () => kafka({ servers: brokers }).offsets?.lags([group], [topic]);
  const read = new Set<number>();
  const join = () =>
    kafkaSource(kafkaConnection(brokers)).subscribe({
      addresses: [topic],
      group,
      concurrency: 3,
      fromBeginning: true,
      joinWithinMs: 30_000,
      batchSize: 100,
      handle: async ({ messages, partition }) => {
        for (const { offset } of messages)
          if (offset !== undefined) read.add(partition * 1_000 + Number(offset));
      },
      assigned: () => undefined,
      disconnected: () => undefined,
    });
  const first = await join();
  await first.stop();
  await Promise.all([fill(0, 3), fill(2, 5)]);
  expect(await lags()).toEqual([{ group, address: topic, messages: 3 + 5 }]);

  const second = await join();
  onTestFinished(() => second.stop());
  await expect
    .poll(() => [...read].toSorted((a, b) => a - b))
    .toEqual([0, 1, 2, 2_000, 2_001, 2_002, 2_003, 2_004]);
});
