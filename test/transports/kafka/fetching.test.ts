import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { KafkaConsumption } from '../../../src/brokers/kafka/client/consumption.ts';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const { plain: brokers } = inject('secureKafka');
const kafka = observer(brokers);
const partitions = 3;

/** Which partitions a new group gets batches of, in this order. */
async function partitionsRead(
  limit: number,
  batches: number,
  consumption: Partial<KafkaConsumption> = {},
): Promise<readonly number[]> {
  const topic = await createTopic(kafka, {
    numPartitions: partitions,
    configEntries: [{ name: 'max.message.bytes', value: String(limit) }],
  });
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const value = Buffer.alloc(limit - 10_000);
  for (let n = 0; n < batches * partitions; n += 1)
    await producer.send({ topic, messages: [{ partition: n % partitions, value }] });
  await producer.disconnect();
  const order: number[] = [];
  const subscribed = await kafkaSource(kafkaConnection(brokers, consumption)).subscribe({
    addresses: [topic],
    group: `group-${randomUUID()}`,
    concurrency: partitions,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 100,
    async handle(batch) {
      order.push(batch.partition);
      for (const message of batch.messages) batch.acknowledge(message);
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  onTestFinished(() => subscribed.stop());
  await until(() => order.length === batches * partitions, 60_000);
  return order;
}

test.for([1_048_588, 3_000_000])(
  'partitions full of batches of up to %i bytes are read concurrently',
  async (limit) => {
    const batches = 6;
    const order = await partitionsRead(limit, batches);

    // Each fetch has one batch of every partition.
    for (let fetched = 0; fetched < batches; fetched += 1)
      expect(new Set(order.slice(fetched * partitions, (fetched + 1) * partitions))).toEqual(
        new Set([0, 1, 2]),
      );
  },
);

test('of partitions that do not fit into one answer none waits until the others are read', async () => {
  const batches = 40;

  // An answer has one batch, of a partition that chance chooses.
  const order = await partitionsRead(90_000, batches, { maxFetchBytes: 90_000 });

  expect(new Set(order.slice(0, (batches * partitions) / 2))).toEqual(new Set([0, 1, 2]));
});
