import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { StalledGroup } from '../../../../src/relay/on-stalled.ts';
import { StalledGroups } from '../../../../src/relay/stalled-groups.ts';
import { rocketmq } from '../../../../src/transports.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { until } from '../../../support/fixtures/until.ts';
import { admin, newTopic, options } from '../rocketmq-stage.ts';

test('a group with order that holds a message is told once, and again after it moved and stalled anew', async () => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const transport = rocketmq({ ...options, nameServers: inject('rocketmq').names });
  onTestFinished(() => transport.close());
  const { offsets, topics } = transport;
  if (offsets === undefined || topics === undefined) throw new Error('It lacks them.');
  const address = await newTopic('FIFO', 1);
  const group = `billing-${randomUUID()}`;
  await admin.createGroup(group, true);
  for (const n of [1, 2, 3]) await admin.put(address, 0, { body: Buffer.from(`${n}`), properties: {} });
  let held = '1';
  const member = await transport.source?.().subscribe({
    addresses: [address],
    group,
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 1,
    handle: async (batch) => {
      for (const message of batch.messages) {
        if (Number(message.offset) < Number(held)) batch.acknowledge(message);
        else batch.reject(message, 1_000);
      }
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  onTestFinished(() => member?.stop());

  const told: StalledGroup[] = [];
  const watching = new StalledGroups({
    database: made.database,
    transports: [
      {
        name: 'rocketmq',
        offsets,
        topics,
        addresses: new Map([[address, { topic: 'orders', expected: [] }]]),
      },
    ],
    groups: async () => [group],
    afterMs: 3_000,
    onStalled: async (_tx, stalled) => told.push(stalled),
    report: () => undefined,
  });
  onTestFinished(() => watching.stop());
  watching.start();
  await until(() => told.length > 0, 60_000);
  held = '2';
  await until(() => told.length > 1, 60_000);

  const about = { topic: 'orders', group, partitions: [expect.any(Number)], since: expect.any(Date) };
  expect(told).toEqual([
    { ...about, waiting: 2 },
    { ...about, waiting: 1 },
  ]);
});
