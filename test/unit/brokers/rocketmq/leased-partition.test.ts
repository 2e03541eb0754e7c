import { expect, test } from 'vitest';
import { incomingMessage } from '../../../../src/brokers/incoming-message.ts';
import type { LeasedMessage } from '../../../../src/brokers/rocketmq/source/leased-message.ts';
import { Share } from '../../../../src/brokers/rocketmq/source/share.ts';
import type { IncomingBatch } from '../../../../src/brokers/source.ts';
import { until } from '../../../support/fixtures/until.ts';

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

/** Acknowledges those that are named, and gives others back for so long. */
function taking(acknowledged: readonly string[], rejected: Readonly<Record<string, number>> = {}) {
  return async (batch: IncomingBatch): Promise<void> => {
    for (const message of batch.messages) {
      const id = message.header('id') ?? '';
      if (acknowledged.includes(id)) batch.acknowledge(message);
      const afterMs = rejected[id];
      if (afterMs !== undefined) batch.reject(message, afterMs);
    }
  };
}

test('with order, no message after an open one is done', async () => {
  const share = new Share(place, true);
  share.add(leased('a', 'b', 'c'));

  const { done, open } = await share.hand({ batchSize: 9, handle: taking(['a', 'c']) }, going);

  expect([ids(done), ids(open), ids(share.all())]).toEqual([['a'], ['b', 'c'], ['b', 'c']]);
});

test('without order each message is done separately, even if two have the same offset', async () => {
  const share = new Share(place, false);
  share.add(leased('a', 'b', 'c'));

  const { done, open } = await share.hand({ batchSize: 9, handle: taking(['a', 'c']) }, going);

  expect([ids(done), ids(open)]).toEqual([['a', 'c'], ['b']]);
});

test.each([
  [true, [['b', 'c', 'd']]],
  [false, [['d'], ['b']]],
])(
  'a rejected message waits for its time, and with order (%s) so do all later ones',
  async (ordered, later) => {
    const share = new Share(place, ordered);
    share.add(leased('a', 'b', 'c'));
    await share.hand({ batchSize: 9, handle: taking(['a', 'c'], { b: 60 }) }, going);
    const restMs = (share.nextAtMs() ?? 0) - performance.now();
    share.add(leased('d'));

    const offered: (readonly string[])[] = [];
    await until(async () => {
      const handle = async (batch: IncomingBatch): Promise<void> => {
        offered.push(batch.messages.map((message) => message.header('id') ?? ''));
        for (const message of batch.messages) batch.acknowledge(message);
      };
      await share.hand({ batchSize: 9, handle }, going);
      return share.all().length === 0;
    });

    expect(restMs).toBeGreaterThan(30);
    expect(offered).toEqual(later);
  },
);

test('a batch with a lost message is aborted, and lost messages are not offered again', async () => {
  const share = new Share(place, true);
  const messages = leased('a', 'b');
  share.add(messages);
  const told: unknown[] = [];

  await share.hand(
    {
      batchSize: 1,
      async handle(batch) {
        for (const message of messages) message.lost = true;
        share.dropLost();
        told.push(batch.lost.aborted, batch.signal.aborted, batch.mayBegin());
      },
    },
    going,
  );

  expect(told).toEqual([true, true, false]);
  expect(share.all()).toEqual([]);
});

/** What is offered next, and taken. */
async function offeredNext(share: Share): Promise<readonly string[]> {
  const offered: string[] = [];
  const handle = async (batch: IncomingBatch): Promise<void> => {
    offered.push(...batch.messages.map((message) => message.header('id') ?? ''));
    for (const message of batch.messages) batch.acknowledge(message);
  };
  await share.hand({ batchSize: 9, handle }, going);
  return offered;
}

function lose(share: Share, ...lost: readonly string[]): void {
  for (const message of share.all()) if (lost.includes(message.messageId)) message.lost = true;
}

test.each([
  [true, ['a']],
  [false, ['a', 'c']],
])('waiting messages behind a lost one are lost with it if order is kept: %s', async (ordered, kept) => {
  const share = new Share(place, ordered);
  share.add(leased('a', 'b', 'c'));
  lose(share, 'b');
  share.dropLost();

  expect(await offeredNext(share)).toEqual(kept);
});

test.each([
  ['while it is handled', (share: Share) => share.dropLost()],
  ['and found as its batch ends', () => undefined],
])('with order, messages waiting behind one that is lost %s are lost with it', async (_when, find) => {
  const share = new Share(place, true);
  share.add(leased('a', 'b', 'c'));
  await share.hand(
    {
      batchSize: 2,
      async handle() {
        lose(share, 'a');
        find(share);
      },
    },
    going,
  );

  expect(ids(share.all())).toEqual([]);
});

test('with order, messages that arrive again while their lost batch is still handled are kept and offered in order', async () => {
  const share = new Share(place, true);
  share.add(leased('a', 'b'));
  await share.hand(
    {
      batchSize: 9,
      async handle() {
        lose(share, 'a');
        share.dropLost();
        share.add(leased('a', 'b'));
        share.dropLost();
      },
    },
    going,
  );

  expect(await offeredNext(share)).toEqual(['a', 'b']);
});
