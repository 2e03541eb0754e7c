import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import type { SourceNotice, Subscribed } from '../../../src/brokers/source.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const brokers = inject('kafkaBrokers');
const kafka = observer(brokers);

async function publish(topic: string, ...texts: readonly string[]): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic, messages: texts.map((value) => ({ value })) });
  await producer.disconnect();
}

/** What retention does in its own time: the records before this offset are gone. */
async function deleteBefore(topic: string, offset: string): Promise<void> {
  const admin = kafka.admin();
  await admin.connect();
  // kafkajs deletes only from topics whose metadata it has.
  await admin.fetchTopicOffsets(topic);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset }] });
  const [log] = await admin.fetchTopicOffsets(topic);
  expect(log?.low).toBe(offset);
  await admin.disconnect();
}

interface Member {
  readonly texts: string[];
  readonly notices: SourceNotice[];
  readonly subscribed: Subscribed;
}

/** @param rejectedForMs how long a message is given back for; it is acknowledged where this is `undefined` */
async function join(
  address: string,
  group: string,
  rejectedForMs: (text: string) => number | undefined,
): Promise<Member> {
  const texts: string[] = [];
  const notices: SourceNotice[] = [];
  const subscribed = await kafkaSource(kafkaConnection(brokers)).subscribe({
    addresses: [address],
    group,
    concurrency: 1,
    fromBeginning: false,
    joinWithinMs: 30_000,
    batchSize: 100,
    async handle(batch) {
      for (const message of batch.messages) {
        const text = Buffer.from(message.body ?? '').toString();
        texts.push(text);
        const afterMs = rejectedForMs(text);
        if (afterMs === undefined) batch.acknowledge(message);
        else batch.reject(message, afterMs);
      }
    },
    assigned: () => undefined,
    disconnected: () => undefined,
    noticed: (notice) => void notices.push(notice),
  });
  onTestFinished(() => subscribed.stop());
  return { texts, notices, subscribed };
}

test('a group that began at the newest messages and returns after its offset was deleted continues with the oldest message', {}, async () => {
  const topic = await createTopic(kafka);
  const group = `group-${randomUUID()}`;
  const first = await join(topic, group, () => undefined);
  await publish(topic, 'one');
  await until(() => first.texts.includes('one'));
  await first.subscribed.stop();

  await publish(topic, 'two', 'three', 'four', 'five');
  await deleteBefore(topic, '3');
  const unsure = await join(topic, group, () => 60_000);
  await until(() => unsure.texts.includes('four'));
  expect(unsure.notices).toMatchObject([
    {
      type: 'messages-lost',
      address: topic,
      partition: 0,
      from: '1',
      to: '3',
      messages: 2,
      error: {
        code: 'OUTBOX_MESSAGES_EXPIRED',
        message: expect.stringContaining(`2 messages of ${topic}/0`),
      },
    },
  ]);
  expect(await unsure.subscribed.lag()).toEqual([{ address: topic, partition: 0, messages: 2 }]);
  await unsure.subscribed.stop();

  // The one before has done nothing, so the group is still where its place was deleted.
  const last = await join(topic, group, () => undefined);
  await until(() => last.texts.includes('five'));
  expect(last.texts).toEqual(['four', 'five']);
  expect(first.notices).toEqual([]);
});

test('a group that began at the newest messages and falls behind the retention continues with the oldest message', {
  tags: ['missing-topic-named'],
}, async () => {
  const topic = await createTopic(kafka);
  await publish(topic, 'before');
  const { texts, notices } = await join(topic, `group-${randomUUID()}`, (text) =>
    text === 'two' ? 15_000 : undefined,
  );
  await publish(topic, 'one');
  await until(() => texts.includes('one'));
  await publish(topic, 'two');
  await until(() => texts.includes('two'));
  await publish(topic, 'three', 'four', 'five');
  await deleteBefore(topic, '4');
  await until(() => texts.includes('five'));
  expect(texts).toEqual(['one', 'two', 'four', 'five']);
  // `two` was returned, and is among the messages deleted since.
  expect(notices).toMatchObject([{ type: 'messages-lost', from: '2', to: '4', messages: 2 }]);
});
