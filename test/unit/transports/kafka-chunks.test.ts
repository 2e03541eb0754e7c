import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chunksOf, encodedSize } from '../../../src/transports/kafka/chunks.ts';
import type { OutgoingMessage } from '../../../src/transports/transport.ts';

interface Encoded {
  size(): number;
}
type EncodeRecord = (record: {
  key: string | null;
  value: string;
  headers: object;
  offsetDelta: number;
}) => Encoded;
const encodeRecord = createRequire(import.meta.url)(
  'kafkajs/src/protocol/recordBatch/record/v0',
) as EncodeRecord;

const messages = fc.record({
  headers: fc.dictionary(fc.string({ minLength: 1 }), fc.string({ unit: 'grapheme', maxLength: 200 })),
  id: fc.uuid(),
  key: fc.option(fc.string({ unit: 'grapheme' })),
  payload: fc.string({ unit: 'grapheme', maxLength: 20_000 }),
});

test('the size of a message is never below what is encoded, and at most four bytes above', () => {
  fc.assert(
    fc.property(messages, fc.integer({ min: 0, max: 4_000 }), (message, offsetDelta) => {
      const { key, headers, payload } = message;
      const actual = encodeRecord({ headers, key, offsetDelta, value: payload }).size();
      expect(encodedSize(message)).toBeGreaterThanOrEqual(actual);
      expect(encodedSize(message)).toBeLessThanOrEqual(actual + 4);
    }),
  );
});

function sized(bytes: number): OutgoingMessage {
  return { headers: {}, id: 'id', key: null, payload: 'p'.repeat(bytes) };
}

test('chunks keep the order, leave nothing out, and exceed the limit only by a message that is alone', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 900 })),
      fc.integer({ min: 100, max: 2_000 }),
      (sizes, limit) => {
        const all = sizes.map(sized);
        const places = [...all.keys()];
        const chunks = chunksOf(all, places, limit);
        expect(chunks.flat()).toEqual(places);
        for (const chunk of chunks) {
          const bytes = chunk.reduce((sum, place) => sum + encodedSize(all[place] ?? sized(0)), 61);
          expect(chunk.length === 1 || bytes <= limit).toBe(true);
        }
      },
    ),
  );
});

test('chunks are as few as the limit allows', () => {
  const all = Array.from({ length: 100 }, () => sized(100));
  const limit = 61 + 10 * encodedSize(sized(100));
  expect(chunksOf(all, [...all.keys()], limit)).toHaveLength(10);
});

test('no chunk exceeds 4 MiB, whatever the topic allows', () => {
  const all = Array.from({ length: 10 }, () => sized(1_000_000));
  expect(chunksOf(all, [...all.keys()], 100_000_000).map((chunk) => chunk.length)).toEqual([4, 4, 2]);
});
