import { AssertionError } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type MemorySource, memorySource } from '../../src/brokers/memory/memory-source.ts';
import type { IncomingBatch, Subscribed, Subscription } from '../../src/brokers/source.ts';
import { sourceContract } from '../../src/testing/source-contract.ts';

/** How long a broken source is waited for; a correct one, which comes back at once, has as long as it needs. */
const patienceMs = { broken: 1_000, correct: 30_000 } as const;

type Subscribe = (subscription: Subscription, memory: MemorySource) => Promise<Subscribed>;

/** Whether the case of this name finds a source with this `subscribe` out. */
async function finds(name: string, subscribe: Subscribe, withinMs: number): Promise<boolean> {
  const { cases } = sourceContract(
    async () => {
      const memory = memorySource({ partitions: 3 });
      return {
        source: { ...memory, subscribe: (subscription) => subscribe(subscription, memory) },
        partitions: 3,
        addresses: [`broken-${randomUUID()}`, `broken-${randomUUID()}`],
        send: async (address, messages) => void memory.append(address, ...messages),
        dispose: async () => {},
      };
    },
    ['order', 'partitions', 'history', 'groups', 'empty-body'],
    withinMs,
  );
  const found = cases.find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no case "${name}".`);
  return found.run().then(
    () => false,
    (error: unknown) => {
      if (error instanceof AssertionError) return true;
      throw error;
    },
  );
}

/** A source that hands over other batches than the broker has. */
function changing(change: (batch: IncomingBatch) => IncomingBatch): Subscribe {
  return (subscription, memory) =>
    memory.subscribe({ ...subscription, handle: (batch) => subscription.handle(change(batch)) });
}

const unchanged =
  'every message arrives unchanged, with or without a key, sent before or after the group joined';
const backlog = 'a long backlog arrives completely and in order, in batches';
const again = 'a rejected message is offered again after its time, not before';
const onward = 'a consumer that returns continues after the acknowledged messages';
const ending = 'a stopped consumer begins no message, waits for its batch, and keeps what it acknowledged';

const broken: Readonly<Record<string, readonly [name: string, subscribe: Subscribe]>> = {
  'changes a header': [
    unchanged,
    changing((batch) => ({
      ...batch,
      messages: batch.messages.map((one) => ({ ...one, headers: { ...one.headers, ce_type: 'other' } })),
    })),
  ],
  'changes the header that is asked for': [
    unchanged,
    changing((batch) => ({
      ...batch,
      messages: batch.messages.map((one) => ({ ...one, header: () => 'other' })),
    })),
  ],
  'knows a header that was not sent': [
    unchanged,
    changing((batch) => ({
      ...batch,
      messages: batch.messages.map((one) => ({
        ...one,
        header: (name) => Reflect.get(one.headers, name) as string | undefined,
      })),
    })),
  ],
  'offers an empty batch': [
    unchanged,
    (subscription, memory) =>
      memory.subscribe({
        ...subscription,
        async handle(batch) {
          await subscription.handle({ ...batch, messages: [] });
          await subscription.handle(batch);
        },
      }),
  ],
  'reverses a batch': [backlog, changing((batch) => ({ ...batch, messages: batch.messages.toReversed() }))],
  'hands a partition over twice at once': [
    backlog,
    (subscription, memory) =>
      memory.subscribe({
        ...subscription,
        handle: async (batch) => {
          await Promise.all([subscription.handle(batch), subscription.handle(batch)]);
        },
      }),
  ],
  'skips the first message of its second batch': [
    backlog,
    (subscription, memory) => {
      let batches = 0;
      return memory.subscribe({
        ...subscription,
        batchSize: 50,
        async handle(batch) {
          batches += 1;
          const messages = batches === 6 ? batch.messages.slice(1) : batch.messages;
          await subscription.handle({ ...batch, messages });
          for (const message of batch.messages) batch.acknowledge(message);
        },
      });
    },
  ],
  'acknowledges open messages': [
    'a message left open among acknowledged ones is offered to the next consumer',
    (subscription, memory) =>
      memory.subscribe({
        ...subscription,
        async handle(batch) {
          await subscription.handle(batch);
          for (const message of batch.messages) batch.acknowledge(message);
        },
      }),
  ],
  'forgets acknowledgements': [
    onward,
    (subscription, memory) => memory.subscribe({ ...subscription, group: randomUUID() }),
  ],
  'commits the furthest acknowledged message, not the first gap': [
    'after gaps the next consumer receives the first open message of a partition and all later ones, but none before it',
    changing((batch) => ({
      ...batch,
      acknowledge: (message) => {
        for (const one of batch.messages) {
          batch.acknowledge(one);
          if (one === message) return;
        }
      },
    })),
  ],
  'offers a rejected message at once': [
    again,
    changing((batch) => ({ ...batch, reject: (message) => batch.reject(message, 0) })),
  ],
  'handles one partition after the other': [
    'a slow partition does not delay others',
    (subscription, memory) => memory.subscribe({ ...subscription, concurrency: 1 }),
  ],
  'always begins with the oldest message': [
    'a group that begins with new messages receives none from before, and all from after',
    (subscription, memory) => memory.subscribe({ ...subscription, fromBeginning: true }),
  ],
  'gives every message to one group only': [
    'two groups each receive everything',
    (subscription, memory) => memory.subscribe({ ...subscription, group: 'the only one' }),
  ],
  'gives every member everything': [
    'each partition belongs to one member of the group, and all belong to the last member',
    (subscription, memory) => memory.subscribe({ ...subscription, group: randomUUID() }),
  ],
  'stops without waiting for the current batch': [
    ending,
    async (subscription, memory) => {
      const subscribed = await memory.subscribe(subscription);
      return { ...subscribed, stop: async () => void subscribed.stop() };
    },
  ],
  'lets messages begin while it stops': [ending, changing((batch) => ({ ...batch, mayBegin: () => true }))],
  'always reports a lag of 0': [
    'the lag counts the unacknowledged messages of every partition',
    async (subscription, memory) => {
      const subscribed = await memory.subscribe(subscription);
      const lag = async () => (await subscribed.lag()).map((one) => ({ ...one, messages: 0 }));
      return { ...subscribed, lag };
    },
  ],
};

for (const [what, [name, subscribe]] of Object.entries(broken))
  test(`a source that ${what} is detected`, async () => {
    expect(
      await finds(name, (subscription, memory) => memory.subscribe(subscription), patienceMs.correct),
    ).toBe(false);
    expect(await finds(name, subscribe, patienceMs.broken)).toBe(true);
  });
