import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import type { Subscribed } from '../../../src/brokers/source.ts';
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

async function join(
  group: string,
  addresses: readonly string[],
  texts: string[],
): Promise<{ readonly subscribed: Subscribed; stop(): Promise<void> }> {
  const subscribed = await kafkaSource(kafkaConnection(brokers)).subscribe({
    addresses,
    group,
    concurrency: 2,
    fromBeginning: false,
    joinWithinMs: 30_000,
    batchSize: 100,
    async handle(batch) {
      for (const message of batch.messages) {
        texts.push(Buffer.from(message.body ?? '').toString());
        batch.acknowledge(message);
      }
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= subscribed.stop());
  onTestFinished(stop);
  return { subscribed, stop };
}

test('messages in a topic before it is added to a group are not handled by a later member, whatever the first one commits of others', {}, async () => {
  const [known, added] = [await createTopic(kafka), await createTopic(kafka)];
  const group = `group-${randomUUID()}`;
  const texts: string[] = [];
  const first = await join(group, [known], texts);
  await publish(known, 'one');
  await until(() => texts.includes('one'));
  await first.stop();

  await publish(added, 'old 1', 'old 2', 'old 3');
  await publish(known, 'two');
  const second = await join(group, [known, added], texts);
  await until(() => texts.includes('two'));
  await second.stop();
  const third = await join(group, [known, added], texts);
  await publish(added, 'new');
  await until(() => texts.includes('new'));
  expect(texts).toEqual(['one', 'two', 'new']);
  await third.stop();
});
