import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Brokers } from '../../../../src/brokers/kafka/transport/brokers.ts';
import {
  countPartitions,
  probeTopic,
  TopicMetadata,
} from '../../../../src/brokers/kafka/transport/topic-metadata.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

const nodes = [
  { nodeId: 1, host: 'a', port: 9_092 },
  { nodeId: 2, host: 'b', port: 9_093 },
];
const [a, b] = [
  { host: 'a', port: 9_092 },
  { host: 'b', port: 9_093 },
];

/** A cluster whose topics have these leaders, and that answers after 100 ms. */
function cluster(leaders: Record<string, readonly number[]>) {
  const asked: (readonly string[])[] = [];
  const state = { leaders, away: false };
  const connection = {
    metadata: async (addresses: readonly string[]) => {
      asked.push(addresses);
      await new Promise<void>((resolve) => setTimeout(resolve, 100));
      if (state.away) throw new Error('no broker');
      const topics = Object.entries(state.leaders).map(([name, ids]) => ({
        name,
        partitions: ids.map((leaderId, partitionIndex) => ({ partitionIndex, leaderId })),
      }));
      return { brokers: nodes, topics };
    },
  };
  const brokers = {
    any: async () => connection,
    afresh: (ask: (one: typeof connection) => Promise<unknown>) => ask(connection),
  } as unknown as Brokers;
  return { asked, state, brokers, metadata: new TopicMetadata(brokers) };
}

/** What it comes to within the time that the cluster takes. */
async function answered<Value>(answer: Promise<Value>) {
  const result = soFar(answer);
  await pass(100);
  return result;
}

test('concurrent requests for the leader of a partition share one query', async () => {
  const { asked, metadata } = cluster({ bills: [2, 2], orders: [1, 2] });
  const all = Promise.all([metadata.leaderOf('orders', 0), metadata.leaderOf('orders', 1)]);
  expect((await answered(all)).value).toEqual([a, b]);
  expect(await byNow(metadata.leaderOf('orders', 1))).toEqual(b);
  expect(asked).toEqual([['orders']]);
});

test('a partition without a known leader is looked up each time', async () => {
  const { asked, metadata, state } = cluster({ orders: [1, 7] });
  expect((await answered(metadata.leaderOf('orders', 1))).value).toBeUndefined();
  expect((await answered(metadata.leaderOf('gone', 0))).value).toBeUndefined();
  state.leaders = { orders: [1, 2] };
  expect((await answered(metadata.leaderOf('orders', 1))).value).toEqual(b);
  expect(asked).toHaveLength(3);
});

test('after ten seconds the leader is looked up in the background, and senders do not wait', async () => {
  const { asked, metadata, state } = cluster({ orders: [1] });
  await answered(metadata.leaderOf('orders', 0));
  state.leaders = { orders: [2] };
  await pass(9_999);
  await byNow(metadata.leaderOf('orders', 0));
  expect(asked).toHaveLength(1);
  await pass(1);
  expect(await byNow(metadata.leaderOf('orders', 0))).toEqual(a);
  expect(await byNow(metadata.leaderOf('orders', 0))).toEqual(a);
  expect(asked).toHaveLength(2);
  await pass(100);
  expect(await byNow(metadata.leaderOf('orders', 0))).toEqual(b);
});

test('known leaders are kept while nothing answers, and looked up again', async () => {
  const { asked, metadata, state } = cluster({ orders: [1] });
  await answered(metadata.leaderOf('orders', 0));
  state.away = true;
  await pass(10_000);
  expect(await byNow(metadata.leaderOf('orders', 0))).toEqual(a);
  await pass(100);
  expect(await byNow(metadata.leaderOf('orders', 0))).toEqual(a);
  expect(asked).toHaveLength(3);
  metadata.forget('orders');
  const failed = await answered(metadata.leaderOf('orders', 0));
  expect(failed).toMatchObject({ state: 'rejected', error: { message: 'no broker' } });
});

test('a topic is usable when each of its partitions has a leader', async () => {
  const { brokers, state } = cluster({ orders: [1, 2] });
  expect((await answered(probeTopic(brokers, 'orders'))).state).toBe('resolved');
  expect((await answered(countPartitions(brokers, 'orders'))).value).toBe(2);
  state.leaders = { orders: [9, 1, 8] };
  const unavailable = (message: string) => ({
    error: { code: 'OUTBOX_SERVER_UNAVAILABLE', details: { address: 'orders' }, message },
  });
  expect(await answered(probeTopic(brokers, 'orders'))).toMatchObject(
    unavailable('Kafka topic orders: partition 0, 2 has no leader.'),
  );
  expect((await answered(countPartitions(brokers, 'orders'))).value).toBe(3);
  state.leaders = {};
  const missing = unavailable('Kafka topic orders: it does not exist or may not be used.');
  expect(await answered(countPartitions(brokers, 'orders'))).toMatchObject(missing);
  state.away = true;
  expect(await answered(countPartitions(brokers, 'orders'))).toMatchObject(
    unavailable('Kafka topic orders: no broker'),
  );
});
