import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { GroupLooks } from '../../../../src/relay/group-looks.ts';
import { redisStream } from '../../../../src/transports.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { redisAt } from '../../../support/fixtures/own-redis.ts';
import { untilStands } from '../../standing.ts';
import { serverUrl as url } from '../redis-subject.ts';

test('a group of a stream that keeps an entry open stands, and stands anew after it moved', {
  tags: ['alert-hook-called-once'],
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
  const watching = new GroupLooks({
    database: made.database,
    transports: [{ name: 'redis', offsets, addresses: new Map([[address, { expected: [] }]]) }],
    groups: async () => ['billing', 'unknown'],
    afterMs: 1_000,
    report: () => undefined,
  });
  onTestFinished(() => watching.stop());
  watching.start();
  const first = await untilStands(made.database, 'billing', 1_000);
  await client.xAck(address, 'billing', ids[0] ?? '');
  await client.xAdd(address, '*', { n: '3' });
  const second = await untilStands(made.database, 'billing', 1_000, first);

  expect(second.sinceMs).toBeGreaterThan(first.sinceMs);
});
