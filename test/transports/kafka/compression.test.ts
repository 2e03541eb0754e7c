import { gunzipSync } from 'node:zlib';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { readEveryCodec } from '../../../src/brokers/kafka/client/codecs.ts';
import { kafkaTransport } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { batchHeaderBytes } from '../../../src/brokers/kafka/transport/record-batch.ts';
import { partitionOf } from '../../../src/brokers/partitioning.ts';
import { outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
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
  const transport = kafkaTransport({ servers: plain });
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

test('batches are compressed with gzip for a topic that stores gzip', {
  tags: ['every-codec-read'],
}, async () => {
  const plainBytes = await bytesSent('producer');

  expect(plainBytes).toBeGreaterThan(count * payload.length);
  expect(await bytesSent('gzip')).toBeLessThan(plainBytes / 20);
});

test('batches are sent uncompressed for other codecs, and the broker compresses them', async () => {
  for (const codec of ['snappy', 'lz4', 'zstd'])
    expect(await bytesSent(codec)).toBeGreaterThan(count * payload.length);
});

interface SentBatch {
  readonly partition: number;
  /** As its header says. */
  readonly count: number;
  readonly ids: readonly string[];
}

/** The batches of a request for one topic, of version 8: no transaction, acknowledgements, time-out, one topic. */
function batchesIn(request: Buffer): readonly SentBatch[] {
  const batches: SentBatch[] = [];
  let at = 2 + 2 + 4 + 4;
  at += 2 + request.readInt16BE(at);
  let left = request.readInt32BE(at);
  at += 4;
  for (; left > 0; left -= 1) {
    const partition = request.readInt32BE(at);
    const batch = request.subarray(at + 8, at + 8 + request.readInt32BE(at + 4));
    at += 8 + batch.length;
    const records = gunzipSync(batch.subarray(batchHeaderBytes)).toString('latin1');
    const ids = Array.from(records.matchAll(/ce_id.([0-9a-f-]{36})/g), ([, id]) => id ?? '');
    batches.push({ partition, count: batch.readInt32BE(batchHeaderBytes - 4), ids });
  }
  return batches;
}

test('batches of several partitions that are compressed concurrently are sent as written', async () => {
  const kafka = observer(plain);
  const partitions = 4;
  const address = await createTopic(kafka, {
    numPartitions: partitions,
    configEntries: [{ name: 'compression.type', value: 'gzip' }],
  });
  const transport = kafkaTransport({ servers: plain });
  onTestFinished(() => transport.close());
  await publishTo(transport, address, [outgoing('a')], { partitions });
  const some = Array.from({ length: 300 }, (_, n) => outgoing(`key-${n}`, 400));
  // A different number for each partition, so that no batch could pass with the header of another.
  const uneven = some.filter(({ key }, n) => n % 5 <= partitionOf(key ?? '', partitions));
  const wire = watchWire();

  const { outcomes } = await publishTo(transport, address, uneven, { partitions });

  const sent = wire.requests(kafkaRequests.produce).flatMap((body) => batchesIn(body));
  vi.restoreAllMocks();
  expect(sent.toSorted((a, b) => a.partition - b.partition)).toEqual(
    Array.from({ length: partitions }, (_, partition) => {
      const own = uneven.filter(({ key }) => partitionOf(key ?? '', partitions) === partition);
      return { partition, count: own.length, ids: own.map(({ id }) => id) };
    }),
  );
  expect(outcomes.every(({ kind }) => kind === 'acknowledged')).toBe(true);
});
