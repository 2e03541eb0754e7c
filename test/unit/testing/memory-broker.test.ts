import { expect, test } from 'vitest';
import { partitionOf } from '../../../src/brokers/partitioning.ts';
import { memoryBroker } from '../../../src/testing/memory-broker.ts';

const keys = Array.from({ length: 20 }, (_, n) => `key-${n}`);

test('a message appended to a memory broker by a test goes to the partition that its transport chooses for that key', {
  tags: ['tests-skip-time'],
}, async () => {
  const broker = memoryBroker({ partitions: 3 });
  const published = await broker.publish({
    address: 'orders',
    partitions: 3,
    messages: keys.map((key) => ({ id: key, key, payload: '{}', headers: { ce_id: key } })),
    signal: new AbortController().signal,
  });
  const appended = broker.append('orders', ...keys.map((key) => ({ key, body: '{}' })));

  expect(appended.map(({ partition }) => partition)).toEqual(keys.map((key) => partitionOf(key, 3)));
  const records = new Map(broker.records('orders').map((record) => [record.key, record]));
  expect(published.outcomes).toEqual(
    keys.map((key) => {
      const { partition, offset } = records.get(key) ?? {};
      return { kind: 'acknowledged', partition, offset };
    }),
  );
  // Offsets continue: both are one log.
  const counts = [0, 1, 2].map((partition) => appended.filter((each) => each.partition === partition).length);
  for (const [partition, count] of counts.entries())
    expect(appended.findLast((each) => each.partition === partition)?.offset).toBe(String(2 * count - 1));
  expect(broker.append('orders', { key: 'key-1', body: '{}', partition: 0 })).toMatchObject([
    { partition: 0 },
  ]);
  expect(broker.records('orders')).toHaveLength(keys.length);
});

test('a memory broker without partitions is refused', () => {
  expect(() => memoryBroker({ partitions: 0 })).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID' }),
  );
});
