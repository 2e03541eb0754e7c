import { expect, test } from 'vitest';
import { incomingMessage } from '../../../../src/brokers/incoming-message.ts';
import type { LeasedMessage } from '../../../../src/brokers/rocketmq/source/leased-message.ts';
import { LeasedPartition } from '../../../../src/brokers/rocketmq/source/leased-partition.ts';
import type { IncomingBatch } from '../../../../src/brokers/source.ts';

const place = { address: 'orders', partition: 0 };
const going = new AbortController().signal;

function leased(...ids: readonly string[]): readonly LeasedMessage[] {
  return ids.map((id) => ({
    incoming: incomingMessage({
      ...place,
      // As after a redelivery, whose offsets are those of another queue.
      offset: '0',
      key: null,
      body: null,
      headers: { id },
      timestamp: new Date(),
    }),
    messageId: id,
    endpoint: 'proxy:8081',
    bytes: 0,
    receipt: id,
    untilMs: 0,
    notBeforeMs: 0,
    lost: false,
    done: false,
  }));
}

const ids = (messages: readonly LeasedMessage[]): readonly string[] =>
  messages.map(({ messageId }) => messageId);

/** Acknowledges those that are named. */
function taking(acknowledged: readonly string[]) {
  return async (batch: IncomingBatch): Promise<void> => {
    for (const message of batch.messages) {
      if (acknowledged.includes(message.header('id') ?? '')) batch.acknowledge(message);
    }
  };
}

test('with order, no message after an open one is done', async () => {
  const partition = new LeasedPartition(place, true);
  partition.add(leased('a', 'b', 'c'));

  const { done, open } = await partition.hand({ batchSize: 9, handle: taking(['a', 'c']) }, going);

  expect([ids(done), ids(open), ids(partition.all())]).toEqual([['a'], ['b', 'c'], ['b', 'c']]);
});

test('without order each message is done separately, even if two have the same offset', async () => {
  const partition = new LeasedPartition(place, false);
  partition.add(leased('a', 'b', 'c'));

  const { done, open } = await partition.hand({ batchSize: 9, handle: taking(['a', 'c']) }, going);

  expect([ids(done), ids(open)]).toEqual([['a', 'c'], ['b']]);
});

test('a batch with a lost message is aborted, and lost messages are not offered again', async () => {
  const partition = new LeasedPartition(place, true);
  const messages = leased('a', 'b');
  partition.add(messages);
  const told: unknown[] = [];

  await partition.hand(
    {
      batchSize: 1,
      async handle(batch) {
        for (const message of messages) message.lost = true;
        partition.dropLost();
        told.push(batch.lost.aborted, batch.signal.aborted, batch.mayBegin());
      },
    },
    going,
  );

  expect(told).toEqual([true, true, false]);
  expect(partition.all()).toEqual([]);
});

/** What is offered next, and taken. */
async function offeredNext(partition: LeasedPartition): Promise<readonly string[]> {
  const offered: string[] = [];
  const handle = async (batch: IncomingBatch): Promise<void> => {
    offered.push(...batch.messages.map((message) => message.header('id') ?? ''));
    for (const message of batch.messages) batch.acknowledge(message);
  };
  await partition.hand({ batchSize: 9, handle }, going);
  return offered;
}

function lose(partition: LeasedPartition, ...lost: readonly string[]): void {
  for (const message of partition.all()) if (lost.includes(message.messageId)) message.lost = true;
}

test.each([
  [true, ['a']],
  [false, ['a', 'c']],
])(
  'waiting messages behind a lost one are lost with it if order is kept: %s',
  { tags: ['rocketmq-order-and-effects'] },
  async (ordered, kept) => {
    const partition = new LeasedPartition(place, ordered);
    partition.add(leased('a', 'b', 'c'));
    lose(partition, 'b');
    partition.dropLost();

    expect(await offeredNext(partition)).toEqual(kept);
  },
);

test.each([
  ['while it is handled', (partition: LeasedPartition) => partition.dropLost()],
  ['and found as its batch ends', () => undefined],
])('with order, messages waiting behind one that is lost %s are lost with it', async (_when, find) => {
  const partition = new LeasedPartition(place, true);
  partition.add(leased('a', 'b', 'c'));
  await partition.hand(
    {
      batchSize: 2,
      async handle() {
        lose(partition, 'a');
        find(partition);
      },
    },
    going,
  );

  expect(ids(partition.all())).toEqual([]);
});

test('with order, messages that arrive again while their lost batch is still handled are kept and offered in order', async () => {
  const partition = new LeasedPartition(place, true);
  partition.add(leased('a', 'b'));
  await partition.hand(
    {
      batchSize: 9,
      async handle() {
        lose(partition, 'a');
        partition.dropLost();
        partition.add(leased('a', 'b'));
        partition.dropLost();
      },
    },
    going,
  );

  expect(await offeredNext(partition)).toEqual(['a', 'b']);
});
