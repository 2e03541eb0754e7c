import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ContractSubject } from '../../src/testing/contract-subject.ts';
import { transportContract } from '../../src/testing/transport-contract.ts';
import { memoryTransport } from '../../src/transports/memory/memory-transport.ts';

const partitions = 3;

async function subject(): Promise<ContractSubject> {
  const transport = memoryTransport({ partitions });
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

const cases = await transportContract(subject);

test('the memory transport runs every case of the contract', () => {
  expect(cases).toHaveLength(18);
});

for (const { name, run } of cases) test(name, run);
