import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type MemoryTransport, memoryTransport } from '../../src/brokers/memory/memory-transport.ts';
import type { Source } from '../../src/brokers/source.ts';
import type { DeliveredMessage, TransportSubject } from '../../src/testing/contract-subject.ts';
import { memoryBroker } from '../../src/testing/memory-broker.ts';
import { transportContract } from '../../src/testing/transport-contract.ts';
import { until } from '../support/fixtures/until.ts';

const partitions = 3;

async function subject(transport: MemoryTransport): Promise<TransportSubject> {
  const address = `contract-${randomUUID()}`;
  const refusedIds = new Set<string>();
  return {
    address,
    partitions,
    transport,
    read: async () => transport.records(address),
    dispose: async () => {},
    faults: {
      heal: async () => transport.faults.heal(),
      refused(message) {
        refusedIds.add(message.id);
        transport.faults.refuse(({ id }) => (refusedIds.has(id) ? 'permanent' : undefined));
        return message;
      },
      hold: async () => transport.faults.hold(),
      loseAnswers: async () => transport.faults.loseNextAnswer(),
      failPartition: async (partition) => transport.faults.failPartition(partition),
      reorder: async () => transport.faults.reorder(),
    },
  };
}

const cases = await transportContract(() => subject(memoryTransport({ partitions })));
const ofBroker = await transportContract(async () => {
  const broker = memoryBroker({ partitions });
  const { address, ...rest } = await subject(broker);
  return { ...rest, address, read: () => receivedFrom(broker.source(), address) };
});

/** What a group receives that was never here. */
async function receivedFrom(source: Source, address: string): Promise<readonly DeliveredMessage[]> {
  const received: DeliveredMessage[] = [];
  const subscribed = await source.subscribe({
    addresses: [address],
    group: randomUUID(),
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: Infinity,
    batchSize: 10,
    async handle(batch) {
      for (const { body, headers, key, offset, partition } of batch.messages) {
        const payload = new TextDecoder().decode(body ?? new Uint8Array());
        received.push({ id: headers['ce_id'] ?? '', key, payload, headers, partition, offset });
      }
      for (const message of batch.messages) batch.acknowledge(message);
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  await until(async () => (await subscribed.lag()).every(({ messages }) => messages === 0));
  await subscribed.stop();
  return received;
}

test('the memory transport runs every case of the contract', () => {
  expect(cases).toHaveLength(18);
  expect(ofBroker).toHaveLength(18);
});

for (const { name, run } of cases) test(name, run);
for (const { name, run } of ofBroker) test(`what consumers of a memory broker receive: ${name}`, run);
