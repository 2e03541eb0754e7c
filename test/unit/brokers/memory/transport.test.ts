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

const acknowledged = (partition: number, offset: string) => ({ kind: 'acknowledged', partition, offset });
const unsent = { kind: 'deferred', onWire: false };

test('messages of one key are stored in one partition with their offsets, per address', async () => {
  const { send, stored, transport } = stage();

  const result = await send(a, c, a);
  await publishTo(transport, 'bills', drafted(a), { partitions: 4 });

  expect(result).toEqual({
    outcomes: [
      acknowledged(partitionOfA, '0'),
      acknowledged(partitionOfB, '0'),
      acknowledged(partitionOfA, '1'),
    ],
  });
  expect(stored()).toEqual(['m0 0/0', 'm2 0/1', 'm1 2/0']);
  expect(transport.records('bills')).toMatchObject([{ offset: '0', key: 'a' }]);
  expect(await transport.partitionCount('orders')).toBe(4);
});

test('a refused message blocks later ones of its key, and no others', async () => {
  const { faults, send, stored } = stage();
  const refused = new Map<string, 'permanent' | 'rejected'>([
    ['m1', 'permanent'],
    ['m3', 'rejected'],
  ]);
  faults.refuse(({ id }) => refused.get(id));

  const { outcomes } = await send(a, a, a, { key: null }, { key: null }, c);

  expect(outcomes.map(({ kind }) => kind)).toEqual([
    'acknowledged',
    'permanent',
    'blocked',
    'rejected',
    'acknowledged',
    'acknowledged',
  ]);
  expect(stored()).toHaveLength(3);
});

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

test('a lost answer stores one batch, whose outcome is unknown', async () => {
  const { faults, send, stored } = stage();
  faults.loseNextAnswer();
  await send();

  const lost = await send(a, c);
  const next = await send(a);

  expect(lost).toMatchObject({
    outcomes: [
      { kind: 'deferred', onWire: true },
      { kind: 'deferred', onWire: true },
    ],
    hold: { scope: 'transport' },
  });
  expect(stored()).toHaveLength(3);
  expect(next.hold).toBeUndefined();
  faults.loseNextAnswer();
  faults.heal();
  expect((await send(a)).hold).toBeUndefined();
});

test('a batch that was given up is not stored', async () => {
  const { stored, transport } = stage();

  const result = await publishTo(transport, 'orders', drafted(a), { signal: AbortSignal.abort() });

  expect(result).toMatchObject({ outcomes: [unsent], hold: { scope: 'topic' } });
  expect(stored()).toEqual([]);
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
