import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafka } from '../../../src/transports.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const brokers = inject('kafkaBrokers');
const client = observer(brokers);

test('the lag of a group has what waits in partitions where it has committed nothing, and none at an address it never read', {
  timeout: 60_000,
}, async () => {
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
