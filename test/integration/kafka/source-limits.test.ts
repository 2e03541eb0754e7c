import { randomUUID } from 'node:crypto';
import { afterEach, expect, inject, onTestFinished, test, vi } from 'vitest';
import type { KafkaConsumption } from '../../../src/brokers/kafka/client/consumption.ts';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';
import { kafkaRequests, watchWire } from '../../support/kafka/watched-wire.ts';

const brokers = inject('kafkaBrokers');
const kafka = observer(brokers);

afterEach(() => vi.restoreAllMocks());

/** A member of a new group that acknowledges everything; records the number of messages of each batch. */
async function join(topic: string, consumption: Partial<KafkaConsumption>, messages: number) {
  const group = `group-${randomUUID()}`;
  const counts: number[] = [];
  const subscribed = await kafkaSource(kafkaConnection(brokers, consumption)).subscribe({
    addresses: [topic],
    group,
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 100,
    async handle(batch) {
      counts.push(batch.messages.length);
      for (const message of batch.messages) batch.acknowledge(message);
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  onTestFinished(() => subscribed.stop());
  await until(() => counts.reduce((sum, count) => sum + count, 0) >= messages);
  return { group, counts };
}

test('the coordinator gets the timeouts of the configuration, and the broker the fetch limits', async () => {
  const topic = await createTopic(kafka);
  const wire = watchWire();
  const { group } = await join(
    topic,
    { sessionTimeoutMs: 7_000, rebalanceTimeoutMs: 31_000, maxFetchBytes: 3_000_000 },
    0,
  );
  await until(() => wire.requests(kafkaRequests.fetch).length > 0);

  const joins = wire.requests(kafkaRequests.joinGroup);
  expect(joins.length).toBeGreaterThan(0);
  for (const body of joins) {
    const named = 2 + body.readInt16BE(0);
    expect(body.toString('utf8', 2, named)).toBe(group);
    expect([body.readInt32BE(named), body.readInt32BE(named + 4)]).toEqual([7_000, 31_000]);
  }
  // Replica, longest wait, fewest bytes: then the most.
  for (const body of wire.requests(kafkaRequests.fetch)) expect(body.readInt32BE(12)).toBe(3_000_000);
});

test('no more of one partition arrives at once than the configuration allows', async () => {
  const topic = await createTopic(kafka);
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const value = Buffer.alloc(16 * 1024);
  // A batch of records each: one that is larger than the limit would arrive as a whole.
  for (let n = 0; n < 20; n += 1) await producer.send({ topic, messages: [{ value }] });
  await producer.disconnect();

  const usual = await join(topic, {}, 20);
  expect(usual.counts).toEqual([20]);
  const small = await join(topic, { maxPartitionBytes: 64 * 1024 }, 20);
  expect(Math.max(...small.counts)).toBeLessThanOrEqual(4);
});
