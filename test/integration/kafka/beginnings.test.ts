import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { StartOffsets } from '../../../src/brokers/kafka/source/start-offsets.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const brokers = inject('kafkaBrokers');
const kafka = observer(brokers);

interface Looked {
  readonly address: string;
  readonly group: string;
  readonly beginnings: StartOffsets;
}

/** Of a group that is new, and a topic that holds two messages. */
async function looked(): Promise<Looked> {
  const address = await createTopic(kafka);
  const group = `group-${randomUUID()}`;
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic: address, messages: [{ value: 'one' }, { value: 'two' }] });
  await producer.disconnect();
  const beginnings = new StartOffsets(kafkaConnection(brokers), {
    addresses: [address],
    group,
    concurrency: 1,
    fromBeginning: false,
    joinWithinMs: 30_000,
    batchSize: 1,
    handle: async () => undefined,
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  // The brokers' first group of all waits until their log of offsets exists.
  await until(() => beginnings.look().then(() => true));
  return { address, group, beginnings };
}

test('the start of a partition applies until it is committed, but not to a topic that replaces it', async () => {
  const { address, beginnings } = await looked();
  const partitions = [{ address, partition: 0 }];
  const places = await beginnings.of(partitions);
  expect(places).toEqual([{ topic: address, partition: 0, offset: '2' }]);
  expect(await beginnings.of(partitions)).toEqual(places);
  beginnings.used(address, places);
  expect(await beginnings.of(partitions)).toEqual([{ topic: address, partition: 0, offset: '0' }]);
});

test('a group reset to the oldest message is not treated as new', async () => {
  const { address, group, beginnings } = await looked();
  const admin = kafka.admin();
  await admin.connect();
  await admin.resetOffsets({ groupId: group, topic: address, earliest: true });
  const [found] = await admin.fetchOffsets({ groupId: group, topics: [address] });
  await admin.disconnect();
  expect(found?.partitions).toMatchObject([{ partition: 0, offset: '-2' }]);
  expect(await beginnings.of([{ address, partition: 0 }])).toEqual([]);
});

test('a commit of another member uses up the start', async () => {
  const { address, group, beginnings } = await looked();
  const partitions = [{ address, partition: 0 }];
  const admin = kafka.admin();
  await admin.connect();
  await admin.setOffsets({ groupId: group, topic: address, partitions: [{ partition: 0, offset: '1' }] });
  expect(await beginnings.of(partitions)).toEqual([]);
  // As Kafka does for a topic that is deleted.
  await admin.deleteGroups([group]);
  await admin.disconnect();
  expect(await beginnings.of(partitions)).toEqual([{ topic: address, partition: 0, offset: '0' }]);
});
