import { expect, inject, test } from 'vitest';
import { kafkaSource } from '../../src/brokers/kafka/source/kafka-source.ts';
import { sourceContract } from '../../src/testing/source-contract.ts';
import type { SourceMessage, SourceSubject } from '../../src/testing/source-subject.ts';
import { kafkaConnection } from '../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../support/kafka/kafka-topic.ts';

const partitions = 3;
const brokers = inject('kafkaBrokers');
const kafka = observer(brokers);

async function subject(): Promise<SourceSubject> {
  const [first, second] = await Promise.all([
    createTopic(kafka, { numPartitions: partitions }),
    createTopic(kafka, { numPartitions: partitions }),
  ]);
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  return {
    source: kafkaSource(kafkaConnection(brokers)),
    partitions,
    addresses: [first, second],
    async send(topic, messages) {
      await producer.send({ topic, messages: messages.map(recordOf) });
    },
    dispose: () => producer.disconnect(),
  };
}

function recordOf({ partition, key, body, headers }: SourceMessage): {
  partition: number;
  key: string | null;
  value: string | null;
  headers: Record<string, string>;
} {
  return { partition, key, value: body, headers: { ...headers } };
}

const { cases, skipped } = sourceContract(subject, [
  'order',
  'partitions',
  'history',
  'groups',
  'empty-body',
]);

test('Kafka runs every case of the contract', () => {
  expect(cases).toHaveLength(21);
  expect(skipped).toEqual([]);
});

for (const { name, run } of cases) test(name, run, 180_000);
