import { expect, test } from 'vitest';
import { print } from '../../src/brokers/print/print-transport.ts';
import type { OutgoingMessage } from '../../src/brokers/transport.ts';
import type { DeliveredMessage, TransportSubject } from '../../src/testing/contract-subject.ts';
import { transportContract } from '../../src/testing/transport-contract.ts';

async function subject(): Promise<TransportSubject> {
  const lines: string[] = [];
  return {
    address: 'paper',
    partitions: 1,
    transport: print((line) => void lines.push(line)),
    read: async () => lines.map(received),
    dispose: async () => {},
  };
}

function received(line: string): DeliveredMessage {
  const { address, ...message } = JSON.parse(line) as OutgoingMessage & { address: string };
  expect(address).toBe('paper');
  return { ...message, offset: null, partition: null };
}

for (const { name, run } of await transportContract(subject)) test(name, run);

test('a line that fails is ambiguous, and later lines of its key are not printed', async () => {
  const transport = print(() => {
    throw new Error('no paper');
  });
  const messages = ['a', 'a'].map((key, place) => ({ headers: {}, id: `m-${place}`, key, payload: '{}' }));

  const { outcomes } = await transport.publish({
    address: 'paper',
    messages,
    partitions: 1,
    signal: new AbortController().signal,
  });

  expect(outcomes).toEqual([{ kind: 'ambiguous', error: 'no paper' }, { kind: 'blocked' }]);
});
