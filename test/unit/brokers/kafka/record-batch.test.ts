import { createRequire } from 'node:module';
import { crc32c, jsCRC32C } from '@platformatic/kafka';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchHeaderBytes, RecordBatchWriter } from '../../../../src/brokers/kafka/transport/record-batch.ts';
import { largestRecord, recordSizes } from '../../../../src/brokers/kafka/transport/record-sizes.ts';
import type { OutgoingMessage } from '../../../../src/brokers/transport.ts';

const require = createRequire(import.meta.url);

interface Decoded {
  readonly firstTimestamp: string;
  readonly maxTimestamp: string;
  readonly lastOffsetDelta: number;
  readonly producerId: string;
  readonly records: readonly {
    readonly offset: string;
    readonly timestamp: string;
    readonly attributes: number;
    readonly key: Buffer | null;
    readonly value: Buffer;
    readonly headers: Readonly<Record<string, Buffer>>;
  }[];
}
const Decoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => object;
const decodeBatch = require('kafkajs/src/protocol/recordBatch/v0/decoder') as (
  decoder: InstanceType<typeof Decoder>,
) => Promise<Decoded>;

/** Texts of one byte a character, of several, lone halves of characters, and lengths around the limits of a varint. */
const text = fc.oneof(
  fc.string({ maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 90 }),
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc
    .tuple(fc.constantFrom('a', 'é', '語', '😀'), fc.constantFrom(31, 63, 64, 65, 8_191, 8_192))
    .map(([one, count]) => one.repeat(count)),
);
/** kafkajs decodes into an object in which names such as `constructor` are taken. */
const name = fc.stringMatching(/^[a-z_-]{1,20}$/).filter((one) => !(one in {}));
const message: fc.Arbitrary<OutgoingMessage> = fc.record({
  id: fc.uuid(),
  key: fc.option(text),
  payload: text,
  // Often the same ones at the same index, as in practice, and often not.
  headers: fc.oneof(
    fc.dictionary(name, text, { maxKeys: 5 }),
    fc.record({
      ce_specversion: fc.constant('1.0'),
      ce_id: fc.uuid(),
      ce_source: fc.constantFrom('/outbox/a', '/outbox/b'),
      ce_type: fc.constant('order-created'),
      'content-type': fc.constant('application/json'),
    }),
  ),
});
const stored = (value: string | null): string | null => value && Buffer.from(value).toString();

function decode(batch: Buffer): Promise<Decoded> {
  return decodeBatch(new Decoder(batch));
}

test('kafkajs decodes every batch as the messages it was written from, and its checksum holds', {
  tags: ['every-codec-read'],
}, async () => {
  const writer = new RecordBatchWriter(crc32c);
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 40 }), fc.nat(), async (messages, skip) => {
      const indexes = [...messages.keys()].filter((index) => index === 0 || (index + skip) % 5 !== 0);
      const sizes = recordSizes(messages);
      const batch = writer.write(messages, indexes, sizes, 1_700_000_000_123);

      expect(batch.readUInt32BE(17)).toBe(jsCRC32C(batch.subarray(21)));
      const most = indexes.reduce((sum, index) => sum + largestRecord(sizes, index), batchHeaderBytes);
      expect(batch.length).toBeLessThanOrEqual(most);
      expect(batch.length).toBeGreaterThanOrEqual(most - 4 * indexes.length);
      const { records, ...head } = await decode(batch);
      expect(head).toMatchObject({
        firstTimestamp: '1700000000123',
        maxTimestamp: '1700000000123',
        lastOffsetDelta: indexes.length - 1,
        producerId: '-1',
      });
      expect(
        records.map(({ offset, timestamp, attributes, key, value, headers }) => ({
          offset,
          timestamp,
          attributes,
          key: key === null ? null : String(key),
          payload: String(value),
          headers: Object.fromEntries(Object.entries(headers).map(([one, bytes]) => [one, String(bytes)])),
        })),
      ).toEqual(
        indexes.map((index, number) => {
          const { key, payload, headers } = messages[index] as OutgoingMessage;
          return {
            offset: String(number),
            timestamp: '1700000000123',
            attributes: 0,
            key: stored(key),
            payload: stored(payload),
            headers: Object.fromEntries(Object.entries(headers).map(([one, value]) => [one, stored(value)])),
          };
        }),
      );
    }),
    { numRuns: 40 },
  );
});

test('a batch of 3,000 messages has the numbers of all of them', async () => {
  const messages = Array.from({ length: 3_000 }, (_, n) => ({
    id: `${n}`,
    key: null,
    payload: `${n}`,
    headers: {},
  }));
  const batch = new RecordBatchWriter(crc32c).write(messages, [...messages.keys()], recordSizes(messages), 0);
  const { records } = await decode(batch);
  expect(records.map(({ offset, value }) => [offset, String(value)])).toEqual(
    messages.map(({ id, payload }) => [id, payload]),
  );
});

test('memory is reused for the next batch and released after a large one', () => {
  const writer = new RecordBatchWriter(crc32c);
  const write = (bytes: number): ArrayBufferLike => {
    const messages = [{ id: 'a', key: null, payload: 'x'.repeat(bytes), headers: {} }];
    return writer.write(messages, [0], recordSizes(messages), 0).buffer;
  };
  const first = write(1_000_000);
  expect(write(10_000)).toBe(first);
  const large = write(20_000_000);
  expect(write(1_000).byteLength).toBeLessThan(large.byteLength / 100);
});
