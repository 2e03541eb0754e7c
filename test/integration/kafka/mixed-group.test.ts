import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import type { Partition, SourceNotice } from '../../../src/brokers/source.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const brokers = inject('kafkaBrokers');
const kafka = observer(brokers);

async function publish(topic: string, count: number): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const messages = Array.from({ length: count }, (_, n) => ({ partition: n % 3, value: `${topic} ${n}` }));
  await producer.send({ topic, messages });
  await producer.disconnect();
}

interface Member {
  readonly texts: string[];
  readonly notices: SourceNotice[];
  assigned: readonly Partition[];
  stop(): Promise<void>;
}

async function join(group: string, addresses: readonly string[]): Promise<Member> {
  const texts: string[] = [];
  const notices: SourceNotice[] = [];
  let assigned: readonly Partition[] = [];
  const subscribed = await kafkaSource(kafkaConnection(brokers)).subscribe({
    addresses,
    group,
    concurrency: 2,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 100,
    async handle(batch) {
      for (const message of batch.messages) {
        texts.push(Buffer.from(message.body ?? '').toString());
        batch.acknowledge(message);
      }
    },
    assigned: (partitions) => void (assigned = partitions),
    disconnected: () => undefined,
    noticed: (notice) => void notices.push(notice),
  });
  onTestFinished(() => subscribed.stop());
  return {
    texts,
    notices,
    get assigned() {
      return assigned;
    },
    stop: () => subscribed.stop(),
  };
}

const topicOf = (): Promise<string> => createTopic(kafka, { numPartitions: 3 });

test('consumers with different handlers share one group: members that handle a topic read it, whoever leads', {
  tags: ['different-handlers-share-a-group'],
}, async () => {
  const [a, b, both] = [await topicOf(), await topicOf(), await topicOf()];
  const group = `group-${randomUUID()}`;
  const first = await join(group, [a, both]);
  const second = await join(group, [b, both]);
  const notices = (): readonly SourceNotice[] => [...first.notices, ...second.notices];
  await until(() => first.assigned.length + second.assigned.length === 9 || notices().length > 0);
  expect(notices(), 'partitions that were given to whoever does not handle them').toEqual([]);
  await Promise.all([a, b, both].map((topic) => publish(topic, 30)));

  await until(() => first.texts.length + second.texts.length >= 90);
  expect(first.texts.filter((text) => text.startsWith(a))).toHaveLength(30);
  expect(second.texts.filter((text) => text.startsWith(b))).toHaveLength(30);
  expect(notices()).toEqual([]);

  // The other one leads now, and topics that it does not handle wait for the next member that does.
  await first.stop();
  await until(() => second.assigned.length === 6);
  await publish(a, 3);
  const third = await join(group, [a]);
  await until(() => third.texts.length === 3);
});

test('a consumer assigned topics that it does not handle, by a leader of another kind, names the topics that nothing reads', {
  tags: ['different-handlers-share-a-group'],
}, async () => {
  const [a, b] = [await topicOf(), await topicOf()];
  const group = `group-${randomUUID()}`;
  const stranger = kafka.consumer({
    groupId: group,
    allowAutoTopicCreation: false,
    heartbeatInterval: 500,
    maxWaitTimeInMs: 200,
  });
  onTestFinished(() => stranger.disconnect());
  await stranger.connect();
  await stranger.subscribe({ topic: a });
  const led = new Promise<void>((resolve) => {
    stranger.on('consumer.group_join', () => resolve());
  });
  await stranger.run({ eachMessage: async () => undefined });
  await led;

  const { notices } = await join(group, [b]);

  await until(() => notices.length > 0);
  expect(notices[0]).toMatchObject({
    type: 'partitions-unread',
    addresses: [a],
    error: { code: 'OUTBOX_GROUP_MIXED', message: expect.stringContaining(a) },
  });
});
