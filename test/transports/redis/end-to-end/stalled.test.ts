import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import type { StalledGroup } from '../../../../src/relay/on-stalled.ts';
import { StalledGroups } from '../../../../src/relay/stalled-groups.ts';
import { redisStream } from '../../../../src/transports.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { redisAt } from '../../../support/fixtures/own-redis.ts';
import { until } from '../../../support/fixtures/until.ts';
import { serverUrl as url } from '../redis-subject.ts';

test('a group of a stream that keeps an entry open is told once, and again after it moved and stalled anew', {
  tags: ['on-stalled-called-once'],
}, async () => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const client = await redisAt(url);
  const transport = redisStream({ url });
  onTestFinished(() => transport.close());
  const { offsets } = transport;
  if (offsets === undefined) throw new Error('It declares no offsets.');
  const address = `orders-${randomUUID()}`;
  const ids = [await client.xAdd(address, '*', { n: '1' }), await client.xAdd(address, '*', { n: '2' })];
  await client.xGroupCreate(address, 'billing', '0');
  await client.xReadGroup('billing', 'one', { key: address, id: '>' }, { COUNT: 2 });
  // The later one is acknowledged: the group still stands at the first.
  await client.xAck(address, 'billing', ids[1] ?? '');
  const told: StalledGroup[] = [];
  const watching = new StalledGroups({
    database: made.database,
    transports: [
      { name: 'redis', offsets, addresses: new Map([[address, { topic: 'orders', expected: [] }]]) },
    ],
    groups: async () => ['billing', 'unknown'],
    afterMs: 1_000,
    onStalled: async (_tx, stalled) => told.push(stalled),
    report: () => undefined,
  });
  onTestFinished(() => watching.stop());
  watching.start();
  await until(() => told.length > 0, 30_000);
  await client.xAck(address, 'billing', ids[0] ?? '');
  await client.xAdd(address, '*', { n: '3' });
  await until(() => told.length > 1, 30_000);

  const about = { topic: 'orders', group: 'billing', waiting: 1, partitions: [0], since: expect.any(Date) };
  expect(told).toEqual([about, about]);
});
