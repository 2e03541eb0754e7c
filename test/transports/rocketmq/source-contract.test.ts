import { expect, onTestFinished, test } from 'vitest';
import { toProperties } from '../../../src/brokers/rocketmq/client/properties.ts';
import type { Source, Subscription } from '../../../src/brokers/source.ts';
import {
  type SourceAbility,
  type SourceMessage,
  type SourceSubject,
  sourceContract,
} from '../../../src/testing.ts';
import { rocketmq } from '../../../src/transports.ts';
import { admin, newTopic, options } from './rocketmq-stage.ts';

/**
 * What a gRPC proxy does not support: it has no request for offsets, and gives queues to every member that asks.
 */
const impossible = new Set([
  'a group that begins with new messages receives none from before, and all from after',
  'a group that began with new messages misses none when it returns, even if it acknowledged nothing',
  'the lag counts the unacknowledged messages of every partition',
  'each partition belongs to one member of the group, and all belong to the last member',
]);

/** Groups have to be created: here, by every member that joins. */
function sourceWithGroups(source: Source, ordered: boolean): Source {
  return {
    ...source,
    async subscribe(subscription: Subscription) {
      await admin.createGroup(subscription.group, ordered);
      return source.subscribe(subscription);
    },
  };
}

async function subject(type: 'NORMAL' | 'FIFO', queues: number): Promise<SourceSubject> {
  const transport = rocketmq({ ...options, invisibleTime: '10s' });
  return {
    source: sourceWithGroups(transport.source(), type === 'FIFO'),
    addresses: [await newTopic(type, queues), await newTopic(type, queues)],
    partitions: queues,
    async send(address, messages) {
      // One after the other in each queue.
      const rows = Array.from({ length: queues }, (_, queue) =>
        messages.filter(({ partition }) => partition === queue),
      );
      await Promise.all(
        rows.map(async (row) => {
          for (const message of row) await put(address, message);
        }),
      );
    },
    dispose: () => transport.close(),
  };
}

/** Into its very queue, which a proxy would choose. */
async function put(address: string, { body, headers, key, partition }: SourceMessage): Promise<void> {
  const properties = Object.fromEntries(toProperties(key, headers));
  await admin.put(address, partition, { body: Buffer.from(body ?? ''), properties });
}

const kinds: readonly (readonly ['NORMAL' | 'FIFO', number, readonly SourceAbility[]])[] = [
  ['FIFO', 3, ['history', 'groups', 'order', 'partitions']],
  ['NORMAL', 1, ['history', 'groups']],
];

for (const [type, queues, abilities] of kinds) {
  const { cases, skipped } = sourceContract(() => subject(type, queues), abilities);
  const possible = cases.filter(({ name }) => !impossible.has(name));

  test(`a topic of type ${type} runs every case except those that a proxy cannot pass`, () => {
    expect([cases.length - possible.length, skipped.length]).toEqual(type === 'FIFO' ? [4, 1] : [3, 6]);
  });

  for (const { name, run } of possible) test(`${type}: ${name}`, run);
}

test('a start with new messages only, and the lag, are refused, because proxies do not support them', async () => {
  const source = rocketmq(options).source();
  const group = 'contract-now';
  await admin.createGroup(group, true);
  const subscription: Subscription = {
    addresses: [await newTopic('FIFO', 1)],
    group,
    concurrency: 1,
    batchSize: 10,
    fromBeginning: true,
    joinWithinMs: 30_000,
    handle: async () => undefined,
    assigned: () => undefined,
    disconnected: () => undefined,
  };
  await expect(source.subscribe({ ...subscription, fromBeginning: false })).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    message: expect.stringContaining('resetOffsetByTime'),
  });
  const subscribed = await source.subscribe(subscription);
  onTestFinished(() => subscribed.stop());
  await expect(subscribed.lag()).rejects.toThrow(/mqadmin consumerProgress/);
});
