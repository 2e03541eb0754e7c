import { randomUUID } from 'node:crypto';
import type { KafkaMessage } from 'kafkajs';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafka } from '../../../src/transports.ts';
import { publishTo } from '../../support/fixtures/outgoing.ts';
import { linesOf, shownLines, shownMessage } from '../../support/fixtures/wire-page.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const servers = inject('kafkaBrokers');

test('a record is what docs/other-languages.md shows, and its time is that of sending', async () => {
  const client = observer(servers);
  const topic = await createTopic(client);
  const transport = kafka({ servers });
  onTestFinished(() => transport.close());
  const before = Date.now();

  await publishTo(transport, topic, [shownMessage]);

  const after = Date.now();
  const { headers = {}, key, timestamp, value } = await firstRecord(client, topic);
  const named = Object.entries(headers).map(([name, bytes]) => [`header ${name}`, bytes] as const);
  expect(linesOf([['key', key], ...named, ['value', value]])).toEqual(shownLines('Kafka'));
  expect(Number(timestamp)).toBeGreaterThanOrEqual(before);
  expect(Number(timestamp)).toBeLessThanOrEqual(after);
});

/** Read by a group of its own. */
async function firstRecord(client: ReturnType<typeof observer>, topic: string): Promise<KafkaMessage> {
  const consumer = client.consumer({ groupId: `wire-${randomUUID()}`, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ fromBeginning: true, topic });
  const record = await new Promise<KafkaMessage>((resolve, reject) => {
    consumer.run({ eachMessage: async ({ message }) => resolve(message) }).catch(reject);
  });
  await consumer.disconnect();
  return record;
}
