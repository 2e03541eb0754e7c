import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { GroupLooks } from '../../../../src/relay/group-looks.ts';
import { rocketmq } from '../../../../src/transports.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { untilStands } from '../../standing.ts';
import { admin, newTopic, options } from '../rocketmq-stage.ts';

test('a group with order that holds a message stands, and stands anew after it moved', async () => {
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

  const watching = new GroupLooks({
    database: made.database,
    transports: [
      {
        name: 'rocketmq',
        offsets,
        topics,
        addresses: new Map([[address, { expected: [] }]]),
      },
    ],
    groups: async () => [group],
    afterMs: 3_000,
    report: () => undefined,
  });
  onTestFinished(() => watching.stop());
  watching.start();
  const first = await untilStands(made.database, group, 3_000);
  held = '2';
  const second = await untilStands(made.database, group, 3_000, first);

  expect(second.sinceMs).toBeGreaterThan(first.sinceMs);
});
