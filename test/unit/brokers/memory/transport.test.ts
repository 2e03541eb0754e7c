import { expect, test } from 'vitest';
import { memoryTransport } from '../../../../src/brokers/memory/memory-transport.ts';
import { drafted, publishTo } from '../../../support/fixtures/outgoing.ts';

/** Two keys, whose partitions differ when there are four. */
const [a, c] = [{ key: 'a' }, { key: 'c' }];
const partitionOfA = 0;
const partitionOfB = 2;

function stage() {
  const transport = memoryTransport();
  return {
    transport,
    faults: transport.faults,
    send: (...keys: readonly { readonly key: string | null }[]) =>
      publishTo(transport, 'orders', drafted(...keys), { partitions: 4 }),
    stored: () =>
      transport.records('orders').map(({ id, offset, partition }) => `${id} ${partition}/${offset}`),
  };
}

const unsent = { kind: 'deferred', onWire: false };

test('a transport on hold stores nothing, and a probe gives the reason', async () => {
  const { faults, send, stored, transport } = stage();
  await transport.probe('orders');
  faults.hold('topic', 'closed');

  const result = await send(a, c);

  expect(result).toEqual({ outcomes: [unsent, unsent], hold: { scope: 'topic', reason: 'closed' } });
  await expect(transport.probe('orders')).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: 'closed',
    details: { address: 'orders' },
  });
  faults.heal();
  await transport.probe('orders');
  expect([stored(), (await send(a)).hold]).toEqual([[], undefined]);
});

test.each([0, 2, 3])(
  'a probe reports the failed partition %i, and only its messages are deferred',
  async (partition) => {
    const { faults, send, transport } = stage();
    faults.failPartition(partition);

    const { hold, outcomes } = await send(a, c);

    const fails = [partitionOfA, partitionOfB].map((one) => one === partition);
    expect(outcomes.map(({ kind }) => kind === 'deferred')).toEqual(fails);
    expect(hold !== undefined).toBe(fails.includes(true));
    await expect(transport.probe('orders')).rejects.toThrow(`partition ${partition} failed`);
    faults.heal();
    await transport.probe('orders');
  },
);

test('the loss of an answer waits for a batch that stores something', async () => {
  const { faults, send, stored, transport } = stage();
  faults.failPartition(partitionOfB);
  faults.refuse(({ key }) => (key === 'refused' ? 'rejected' : undefined));
  faults.loseNextAnswer();

  await publishTo(transport, 'orders', drafted(a), { signal: AbortSignal.abort() });
  await send(c);
  await send({ key: 'refused' });
  expect(stored()).toEqual([]);

  expect((await send(a)).outcomes).toEqual([{ kind: 'deferred', onWire: true }]);
  expect((await send(a)).outcomes).toMatchObject([{ kind: 'acknowledged' }]);
});

test('partitions may be served in reverse order, so that batches overtake each other', async () => {
  const { faults, send, transport } = stage();
  const keys = (): readonly (string | null)[] => transport.records('orders').map(({ key }) => key);
  await send(a, c);
  const usual = keys();
  faults.reorder();
  await Promise.all([send(a, c), send(a, c)]);
  const reordered = keys().slice(2);
  faults.heal();
  await Promise.all([send(a, c), send(a, c)]);

  expect([usual, reordered, keys().slice(6)]).toEqual([
    ['a', 'c'],
    ['c', 'c', 'a', 'a'],
    ['a', 'c', 'a', 'c'],
  ]);
});
