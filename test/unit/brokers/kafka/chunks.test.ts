import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chunksOf } from '../../../../src/brokers/kafka/transport/chunks.ts';
import { batchHeaderBytes } from '../../../../src/brokers/kafka/transport/record-batch.ts';
import { largestRecord, recordSizes } from '../../../../src/brokers/kafka/transport/record-sizes.ts';
import type { OutgoingMessage } from '../../../../src/brokers/transport.ts';

function sized(bytes: number): OutgoingMessage {
  return { headers: {}, id: 'id', key: null, payload: 'p'.repeat(bytes) };
}

test('chunks keep the order, omit nothing, and exceed the limit only with a single message', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 900 })),
      fc.integer({ min: 100, max: 2_000 }),
      (sizes, limit) => {
        const all = sizes.map(sized);
        const indexes = [...all.keys()];
        const measured = recordSizes(all);
        const chunks = chunksOf(measured, indexes, limit);
        expect(chunks.flat()).toEqual(indexes);
        for (const chunk of chunks) {
          const bytes = chunk.reduce((sum, index) => sum + largestRecord(measured, index), batchHeaderBytes);
          expect(chunk.length === 1 || bytes <= limit).toBe(true);
        }
      },
    ),
  );
});

test('chunks are as few as the limit allows', () => {
  const all = Array.from({ length: 100 }, () => sized(100));
  const measured = recordSizes(all);
  const limit = batchHeaderBytes + 10 * largestRecord(measured, 0);
  expect(chunksOf(measured, [...all.keys()], limit)).toHaveLength(10);
});

test('no chunk exceeds 4 MiB, whatever the topic allows', () => {
  const all = Array.from({ length: 10 }, () => sized(1_000_000));
  expect(chunksOf(recordSizes(all), [...all.keys()], 100_000_000).map((chunk) => chunk.length)).toEqual([
    4, 4, 2,
  ]);
});
