import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const { plain: brokers } = inject('secureKafka');
const kafka = observer(brokers);
const kib = 1_024;
const keys = Array.from({ length: 10 }, (_, n) => `key-${n}`);

/** One batch, of a producer that lives on, so that the broker remembers the last sequence of it. */
async function write(topic: string, records: readonly { readonly key: string; readonly value: string }[]) {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  onTestFinished(() => producer.disconnect());
  await producer.send({ topic, messages: [...records] });
}

/** The first word of every value that a new group gets, until the last one; or until no more come. */
async function read(topic: string): Promise<readonly string[]> {
  const words: string[] = [];
  const source = kafkaSource(kafkaConnection(brokers, { maxPartitionBytes: 64 * kib }));
  const subscribed = await source.subscribe({
    addresses: [topic],
    group: `group-${randomUUID()}`,
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 100,
    async handle(batch) {
      for (const message of batch.messages) {
        words.push(/^\w+/.exec(Buffer.from(message.body ?? '').toString())?.[0] ?? '');
        batch.acknowledge(message);
      }
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  await until(() => words.includes('last'), 40_000).catch(() => undefined);
  await subscribed.stop();
  return words;
}

test('a group moves past emptied batches after compaction, also before a batch that does not fit into one fetch', {}, async () => {
  const topic = await createTopic(kafka, {
    configEntries: [
      { name: 'cleanup.policy', value: 'compact' },
      { name: 'min.cleanable.dirty.ratio', value: '0.01' },
      { name: 'segment.ms', value: '1' },
      { name: 'delete.retention.ms', value: '0' },
    ],
  });
  await write(
    topic,
    keys.map((key) => ({ key, value: `first ${key}` })),
  );
  await write(
    topic,
    keys.map((key) => ({ key, value: `second ${'x'.repeat(30 * kib)}` })),
  );
  // Compaction leaves the newest segment alone.
  await write(topic, [{ key: 'last', value: 'last' }]);
  let words: readonly string[] = [];
  // The broker compacts every 15 s.
  await until(async () => {
    words = await read(topic);
    return !words.includes('first');
  }, 100_000);

  expect(words).toEqual([...keys.map(() => 'second'), 'last']);
});
