import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { memorySource } from '../../src/brokers/memory/memory-source.ts';
import { memoryBroker } from '../../src/testing/memory-broker.ts';
import { sourceContract } from '../../src/testing/source-contract.ts';
import type { SourceSubject } from '../../src/testing/source-subject.ts';

async function subject(partitions: number, source = memorySource({ partitions })): Promise<SourceSubject> {
  return {
    source,
    partitions,
    addresses: [`contract-${randomUUID()}`, `contract-${randomUUID()}`],
    send: async (address, messages) => void source.append(address, ...messages),
    dispose: async () => {},
  };
}

const abilities = ['order', 'partitions', 'history', 'groups', 'empty-body'] as const;
const { cases, skipped } = sourceContract(() => subject(3), abilities);

test('the memory source runs every case of the contract', () => {
  expect(cases).toHaveLength(21);
  expect(skipped).toEqual([]);
});

for (const { name, run } of cases) test(name, run);

const single = sourceContract(() => subject(1), ['history', 'groups', 'order']);

test('a source without partitions and empty bodies skips the cases that need them, and names them', () => {
  expect(single.cases).toHaveLength(17);
  expect(new Set(single.skipped.flatMap(({ missing }) => missing))).toEqual(
    new Set(['partitions', 'empty-body']),
  );
});

for (const { name, run } of single.cases) test(`with one partition: ${name}`, run);

const ofBroker = sourceContract(() => subject(3, memoryBroker({ partitions: 3 }).source()), abilities);

test('the source of a memory broker runs every case of the contract', () => {
  expect(ofBroker.cases).toHaveLength(21);
});

for (const { name, run } of ofBroker.cases) test(`of a memory broker: ${name}`, run);
