import { setImmediate as turn } from 'node:timers/promises';
import type { Channel, ConsumeMessage } from 'amqplib';
import { expect, test } from 'vitest';
import { Prefetch } from '../../../src/brokers/rabbitmq/source/prefetch.ts';
import { QueueFeed } from '../../../src/brokers/rabbitmq/source/queue-feed.ts';
import { rest } from '../../../src/core/rest.ts';
import { fakeTimeUntilEnd, pass } from '../../support/fixtures/fake-time.ts';
import { IntakeBench } from './intake-bench.ts';

const waitMs = 1_000;

/** A consumer of batches of ten at a queue without order. */
function bench() {
  fakeTimeUntilEnd();
  const fromMs = performance.now();
  const acked: number[] = [];
  const intake = new IntakeBench({ batchSize: 10, batchWaitMs: waitMs });
  let offers = 0;
  const slots = { free: 1 };
  const feed = new QueueFeed({
    address: 'orders',
    channel: {
      ack: ({ fields }: ConsumeMessage) => void acked.push(fields.deliveryTag),
    } as unknown as Channel,
    order: false,
    prefetch: new Prefetch(10),
    holdForMs: 60_000,
    subscription: {
      batchSize: 10,
      // No two offers take the same time, so what was left in one is due some milliseconds before the rest of the other.
      handle: async (batch) => {
        await intake.intake.handle(batch);
        offers += 1;
        await rest(1 + (offers % 3) * 4);
      },
    },
    take() {
      if (slots.free === 0) return false;
      slots.free -= 1;
      return true;
    },
    give() {
      slots.free += 1;
      feed.look();
    },
  });
  return {
    acked,
    intake,
    receive: (n: number) => {
      feed.receive({
        content: Buffer.from(JSON.stringify({ n })),
        fields: { deliveryTag: n },
        properties: {
          messageId: `id-${n}`,
          type: 'orders',
          headers: { ce_id: `id-${n}`, ce_type: 'orders' },
        },
      } as unknown as ConsumeMessage);
    },
    /** Lets time pass, millisecond by millisecond, until this is so. */
    passUntil: async (so: () => boolean) => {
      while (!so()) {
        if (performance.now() - fromMs > 5 * waitMs) throw new Error('it never came');
        await pass(1);
        for (let turns = 0; turns < 4; turns += 1) await turn();
      }
    },
    at: (ms: number) => () => performance.now() - fromMs >= ms,
  };
}

/** The ids of each transaction. */
const batches = ({ database }: IntakeBench): readonly unknown[] =>
  database.said('outbox.receive(').map(([, ids]) => JSON.parse(String(ids)) as unknown);

test('two messages that came one after the other to a queue without order go together after the wait', {
  tags: ['batch-fills-or-ends'],
}, async () => {
  const { acked, at, intake, passUntil, receive } = bench();
  receive(1);
  await passUntil(at(120));
  receive(2);
  await passUntil(at(waitMs - 10));
  expect(batches(intake)).toEqual([]);

  await passUntil(() => acked.length === 2);

  expect(batches(intake)).toEqual([['id-1', 'id-2']]);
});

test('ten messages that trickle into a queue without order fill one batch before the wait is over', {
  tags: ['batch-fills-or-ends'],
}, async () => {
  const { acked, at, intake, passUntil, receive } = bench();
  for (let n = 1; n <= 10; n += 1) {
    receive(n);
    await passUntil(at(n * 37));
  }

  await passUntil(at(waitMs - 10));

  expect(batches(intake)).toHaveLength(1);
  expect(acked.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});
