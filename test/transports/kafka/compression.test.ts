import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { readEveryCodec } from '../../../src/kafka/codecs.ts';
import { kafkaTransport } from '../../../src/transports/kafka/kafka-transport.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';
import { kafkaRequests, watchWire } from '../../support/kafka/watched-wire.ts';

const { plain } = inject('secureKafka');
const count = 200;
const payload = JSON.stringify({ note: 'the same for all of them'.repeat(40) });
const messages = Array.from({ length: count }, (_, n) => ({
  id: `m-${n}`,
  key: 'a',
  payload,
  headers: { ce_id: `m-${n}` },
}));

readEveryCodec();

/** Sends the messages and answers how many bytes of batches left this process. */
async function bytesSent(codec: string): Promise<number> {
  const kafka = observer(plain);
  const address = await createTopic(kafka, {
    numPartitions: 1,
    configEntries: [{ name: 'compression.type', value: codec }],
  });
  const transport = kafkaTransport({ brokers: plain });
  onTestFinished(() => transport.close());
  const wire = watchWire();

  const { outcomes } = await transport.publish({
    address,
    partitions: 1,
    messages,
    signal: new AbortController().signal,
  });

  const sent = wire.requests(kafkaRequests.produce);
  vi.restoreAllMocks();
  expect(outcomes).toHaveLength(count);
  expect(outcomes.every(({ kind }) => kind === 'acknowledged')).toBe(true);
  const stored = await readTopic(kafka, address);
  expect(stored.map((message) => message.payload)).toEqual(messages.map(() => payload));
  return sent.reduce((sum, body) => sum + body.length, 0);
}

test('batches are compressed with gzip for a topic that stores gzip', async () => {
  const plainBytes = await bytesSent('producer');

  expect(plainBytes).toBeGreaterThan(count * payload.length);
  expect(await bytesSent('gzip')).toBeLessThan(plainBytes / 20);
});

test('batches are sent uncompressed for other codecs, with which the broker compresses them', async () => {
  for (const codec of ['snappy', 'lz4', 'zstd'])
    expect(await bytesSent(codec)).toBeGreaterThan(count * payload.length);
});
