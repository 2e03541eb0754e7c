import fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { expect, test } from 'vitest';
import { partitionOf } from '../../../src/brokers/partitioning.ts';

const kafkajs = Partitioners.DefaultPartitioner();

function byKafkajs(key: string, partitions: number): number {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    isr: [],
    leader: 1,
    partitionErrorCode: 0,
    partitionId,
    replicas: [],
  }));
  return kafkajs({ message: { key, value: null }, partitionMetadata, topic: 'any' });
}

test('a key goes to the partition that kafkajs and Java choose', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 400 }),
      fc.integer({ min: 1, max: 64 }),
      (key, partitions) => {
        expect(partitionOf(key, partitions)).toBe(byKafkajs(key, partitions));
      },
    ),
  );
});

test('keys longer than the scratch buffer are hashed in full', () => {
  const long = 'ž'.repeat(3_000);
  expect(partitionOf(`${long}a`, 64)).toBe(byKafkajs(`${long}a`, 64));
  expect(partitionOf(`${long}b`, 64)).toBe(byKafkajs(`${long}b`, 64));
});

test('lone surrogates, which UTF-8 replaces, are hashed as they are sent', () => {
  expect(partitionOf('\ud800x', 64)).toBe(byKafkajs('\ud800x', 64));
});
