import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafkaLog } from '../../../src/brokers/kafka/client/log.ts';
import { kafkaSource } from '../../../src/brokers/kafka/source/kafka-source.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { countKinds, outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaConnection } from '../../support/kafka/kafka-connection.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const brokers = inject('kafkaBrokers');
const client = observer(brokers);
const codecs = ['gzip', 'snappy', 'lz4', 'zstd', 'uncompressed'] as const;

/** Texts that compress well, badly, and in several blocks, and very short ones. */
const payloads = [
  'a',
  'ab'.repeat(100_000),
  randomBytes(90_000).toString('base64'),
  JSON.stringify(Array.from({ length: 4_000 }, (_, n) => ({ n, total: n * n, state: 'ready' }))),
  'z'.repeat(70_000) + randomBytes(30).toString('hex') + 'z'.repeat(70_000),
  '{}',
];

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The broker itself packs what arrives in a topic that asks for it. */
async function filledTopic(codec: string): Promise<string> {
  const topic = await createTopic(client, { configEntries: [{ name: 'compression.type', value: codec }] });
  const transport = kafka({ servers: brokers });
  const messages = payloads.map((payload) => ({ ...outgoing('a'), payload }));
  expect(countKinds(await publishTo(transport, topic, messages))).toEqual({ acknowledged: payloads.length });
  await transport.close();
  return topic;
}

test('a consumer and the verification of the log read topics in gzip, Snappy, LZ4, zstd and plain', {
  tags: ['every-codec-read'],
}, async () => {
  const topics = await Promise.all(codecs.map(filledTopic));
  const arrived = new Map<string, string[]>(topics.map((topic) => [topic, []]));
  const lost: unknown[] = [];
  const subscribed = await kafkaSource(kafkaConnection(brokers)).subscribe({
    addresses: topics,
    group: `group-${randomUUID()}`,
    concurrency: 2,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 100,
    async handle(batch) {
      for (const message of batch.messages) {
        arrived.get(message.address)?.push(digest(Buffer.from(message.body ?? '').toString()));
        batch.acknowledge(message);
      }
    },
    assigned: () => undefined,
    disconnected: (error) => void lost.push(error),
  });
  onTestFinished(() => subscribed.stop());

  const all = (): boolean => [...arrived.values()].every(({ length }) => length >= payloads.length);
  await until(() => lost.length > 0 || all());
  expect(lost).toEqual([]);
  const expected = payloads.map(digest);
  for (const [n, codec] of codecs.entries()) expect(arrived.get(topics[n] ?? ''), codec).toEqual(expected);

  const log = await kafkaLog(kafkaConnection(brokers)).open(topics, null);
  const hashes = new Map<string, string[]>();
  for await (const records of log.records())
    for (const { address, payloadHash } of records)
      hashes.set(address, [...(hashes.get(address) ?? []), payloadHash]);
  for (const [n, codec] of codecs.entries()) expect(hashes.get(topics[n] ?? ''), codec).toEqual(expected);
});
