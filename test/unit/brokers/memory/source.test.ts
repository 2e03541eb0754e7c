import { expect, onTestFinished, test } from 'vitest';
import { type MemorySource, memorySource } from '../../../../src/brokers/memory/memory-source.ts';
import { until } from '../../../support/fixtures/until.ts';

/** Lets a group take everything; answers the offsets as they come. */
async function takeAll(source: MemorySource, group: string): Promise<string[]> {
  const offsets: string[] = [];
  const subscribed = await source.subscribe({
    addresses: ['orders'],
    group,
    concurrency: 2,
    fromBeginning: true,
    joinWithinMs: 1_000,
    batchSize: 10,
    async handle(batch) {
      for (const message of batch.messages) {
        offsets.push(message.offset);
        batch.acknowledge(message);
      }
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  onTestFinished(() => subscribed.stop());
  return offsets;
}

test('a rewound group receives everything again, and another group does not', async () => {
  const source = memorySource({ partitions: 1 });
  source.append('orders', { body: 'a' }, { body: 'b' });
  const [first, second] = [await takeAll(source, 'first'), await takeAll(source, 'second')];
  await until(() => first.length === 2 && second.length === 2);

  source.rewind('first', 'orders');
  source.append('orders', { body: 'c' });
  await until(() => first.length === 5 && second.length === 3);
  expect(first).toEqual(['0', '1', '0', '1', '2']);
  expect(second).toEqual(['0', '1', '2']);
});

test('a group rewound while it handles its first messages receives them again', async () => {
  const source = memorySource({ partitions: 1 });
  source.append('orders', { body: 'a' }, { body: 'b' });
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let batches = 0;
  const subscribed = await source.subscribe({
    addresses: ['orders'],
    group: 'first',
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 1_000,
    batchSize: 10,
    async handle(batch) {
      batches += 1;
      if (batches === 1) await finished;
      for (const message of batch.messages) batch.acknowledge(message);
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  onTestFinished(() => subscribed.stop());
  await until(() => batches === 1);

  source.rewind('first', 'orders');
  finish();
  await until(() => batches === 2);
});

test('messages of one key share a partition, and those without a key are distributed in turn', () => {
  const source = memorySource({ partitions: 3 });
  const places = (key: string | null): number[] =>
    source
      .append('orders', { key, body: null }, { key, body: null }, { key, body: null })
      .map(({ partition }) => partition);

  for (const key of ['a', 'b', 'c', 'd']) expect(new Set(places(key)).size).toBe(1);
  expect(new Set(['a', 'b', 'c', 'd'].flatMap(places)).size).toBeGreaterThan(1);
  expect(new Set(places(null))).toEqual(new Set([0, 1, 2]));
});

test('a memory source without partitions, and a partition that does not exist, are refused', () => {
  expect(() => memorySource({ partitions: 0 })).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID' }),
  );
  expect(() => memorySource({ partitions: 2 }).append('orders', { body: 'a', partition: 2 })).toThrow(
    RangeError,
  );
});

test('a memory source reports a retention of a week, unless the option sets another', async () => {
  expect(await memorySource().redeliveryPeriodMs(['orders'])).toBe(604_800_000);
  expect(await memorySource({ retentionMs: 5 }).redeliveryPeriodMs(['orders'])).toBe(5);
});

test('a group without members is set back to a time, never forward, and one with members is refused', async () => {
  const source = memorySource({ partitions: 1 });
  const how = { group: 'one', address: 'orders', to: new Date(0), dryRun: false };
  const subscribed: number[] = [];
  const group = await source.subscribe({
    addresses: ['orders'],
    group: 'one',
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 1_000,
    batchSize: 1,
    handle: async (batch) => {
      for (const message of batch.messages) {
        subscribed.push(Number(message.offset));
        batch.acknowledge(message);
      }
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  source.append('orders', { body: 'a' }, { body: 'b' });
  await until(() => subscribed.length === 2);
  await expect(source.rewindGroup(how)).rejects.toMatchObject({ code: 'OUTBOX_GROUP_IN_USE' });
  await group.stop();

  const all = [{ partition: 0, before: '2', after: '0' }];
  expect(await source.rewindGroup({ ...how, dryRun: true })).toEqual(all);
  expect(await source.rewindGroup({ ...how, to: new Date(Date.now() + 60_000) })).toEqual([
    { partition: 0, before: '2', after: '2' },
  ]);
  expect(await source.rewindGroup(how)).toEqual(all);
  expect(await source.rewindGroup(how)).toEqual([{ partition: 0, before: '0', after: '0' }]);
  expect(await source.rewindGroup({ ...how, group: 'nobody' })).toEqual([]);
});
