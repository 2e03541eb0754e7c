import { expect, test } from 'vitest';
import type { IncomingBatch } from '../../../../src/brokers/source.ts';
import { gate } from '../../../support/fixtures/gate.ts';
import { acknowledgeAll } from '../subscriber.ts';
import { fired, soon, stage } from './source-stage.ts';

const bodies = ({ messages }: IncomingBatch): readonly string[] =>
  messages.map(({ body }) => Buffer.from(body ?? []).toString());

test('a member registers its group and topics, and requests from each broker as much as it may get', async () => {
  const { proxy, subscribe, told } = await stage();

  await subscribe();
  await expect.poll(() => proxy.received.length, soon).toBe(2);

  expect(told.assigned).toEqual([[0, 1, 2].map((partition) => ({ address: 'orders', partition }))]);
  const group = { name: 'stock', resourceNamespace: 'shop' };
  const topic = { name: 'orders', resourceNamespace: 'shop' };
  expect(proxy.settings[0]?.settings).toMatchObject({
    clientType: 3,
    requestTimeout: { seconds: 10, nanos: 0 },
    subscription: { group, subscriptionsList: [{ topic, expression: { type: 1, expression: '*' } }] },
  });
  expect(proxy.received.map(({ messageQueue }) => messageQueue?.broker?.name)).toEqual(['a', 'b']);
  for (const one of proxy.received)
    expect(one).toMatchObject({
      group,
      messageQueue: { topic, id: -1, broker: { id: 0 } },
      filterExpression: { type: 1, expression: '*' },
      batchSize: 32,
      autoRenew: false,
      invisibleDuration: { seconds: 60, nanos: 0 },
      longPollingTimeout: { seconds: 5, nanos: 0 },
    });
});

test('messages are offered per partition, across brokers, and acknowledged when done', async () => {
  const { proxy, subscribe } = await stage();
  const batches: IncomingBatch[] = [];
  await subscribe((batch) => {
    batches.push(batch);
    acknowledgeAll(batch);
  });

  proxy.deliver('orders', 'a', { id: 'm1', queue: 1, group: 'k' }, { id: 'm2', queue: 1 });
  await expect.poll(() => proxy.acknowledged, soon).toEqual(['m1', 'm2']);
  proxy.deliver('orders', 'b', { id: 'm3' });
  await expect.poll(() => proxy.acknowledged, soon).toEqual(['m1', 'm2', 'm3']);

  expect(batches.map(({ address, partition }) => [address, partition])).toEqual([
    ['orders', 1],
    ['orders', 2],
  ]);
  expect(batches.map(bodies)).toEqual([['m1', 'm2'], ['m3']]);
  expect(batches[0]?.messages[0]).toMatchObject({
    address: 'orders',
    partition: 1,
    offset: '7',
    key: 'k',
    timestamp: new Date(1_000),
  });
  // Nothing was renewed: its time is far away.
  expect(proxy.changed).toEqual([]);
});

test('a rejected message is offered again after its rest, without a new delivery, and then acknowledged', async () => {
  const { proxy, subscribe } = await stage();
  const offers: (readonly [readonly string[], number])[] = [];
  await subscribe((batch) => {
    offers.push([bodies(batch), performance.now()]);
    const [first, second] = batch.messages;
    if (offers.length === 1 && first !== undefined && second !== undefined) {
      batch.acknowledge(first);
      batch.reject(second, 80);
    } else acknowledgeAll(batch);
  });

  proxy.deliver('orders', 'a', { id: 'm1' }, { id: 'm2' }, { id: 'm3' });
  await expect.poll(() => proxy.acknowledged, soon).toEqual(['m1', 'm2', 'm3']);

  expect(offers.map(([ids]) => ids)).toEqual([
    ['m1', 'm2', 'm3'],
    ['m2', 'm3'],
  ]);
  expect((offers[1]?.[1] ?? 0) - (offers[0]?.[1] ?? 0)).toBeGreaterThanOrEqual(79);
});

test('messages in hand are renewed three times in their time and acknowledged by their newest receipt', async () => {
  const { proxy, subscribe } = await stage({ invisibleMs: 3_000 });
  const ended: boolean[] = [];
  await subscribe(async (batch) => {
    await expect.poll(() => proxy.changed.length, soon).toBe(1);
    ended.push(batch.lost.aborted);
    acknowledgeAll(batch);
  });

  proxy.deliver('orders', 'a', { id: 'm1' });
  await expect.poll(() => proxy.acknowledged.length, soon).toBe(1);

  expect(proxy.changed[0]).toEqual(['m1', 3_000]);
  expect(proxy.acknowledged).toEqual([`m1${'+'.repeat(proxy.changed.length)}`]);
  expect(ended).toEqual([false]);
});

test('a message whose receipt is invalid is lost: its batch ends, and it is not acknowledged', async () => {
  const { proxy, subscribe } = await stage({ invisibleMs: 300 });
  proxy.refused.set('changeInvisibleDuration', ['INVALID_RECEIPT_HANDLE', 'expired']);
  const ended: boolean[] = [];
  await subscribe(async (batch) => {
    await fired(batch.lost);
    ended.push(batch.mayBegin());
    acknowledgeAll(batch);
  });

  proxy.deliver('orders', 'a', { id: 'm1' });
  await expect.poll(() => ended, soon).toEqual([false]);
  proxy.refused.clear();
  proxy.deliver('orders', 'b', { id: 'm2' });
  await expect.poll(() => ended.length, soon).toBe(1);

  expect(proxy.acknowledged).not.toContain('m1');
});

test('a message that cannot be renewed is lost at the end of its time, and not before', async () => {
  const { proxy, subscribe } = await stage({ invisibleMs: 2_000 });
  proxy.refused.set('changeInvisibleDuration', ['INTERNAL_ERROR', 'of a broker']);
  let lostAfterMs = 0;
  await subscribe(async (batch) => {
    const fromMs = performance.now();
    await fired(batch.lost);
    lostAfterMs = performance.now() - fromMs;
  });

  proxy.deliver('orders', 'a', { id: 'm1' });
  await expect.poll(() => lostAfterMs, soon).toBeGreaterThan(0);

  expect(lostAfterMs).toBeGreaterThan(500);
});

test('a stop waits for what is in hand, acknowledges it, and returns at once what has not begun', async () => {
  const { proxy, subscribe } = await stage();
  const batches: IncomingBatch[] = [];
  const subscribed = await subscribe(
    async (batch) => {
      batches.push(batch);
      await fired(batch.signal);
      acknowledgeAll(batch);
    },
    { batchSize: 1 },
  );
  proxy.deliver('orders', 'a', { id: 'm1' }, { id: 'm2' });
  await expect.poll(() => batches.length, soon).toBe(1);

  await subscribed.stop();

  expect(batches.map(({ lost }) => lost.aborted)).toEqual([false]);
  expect(proxy.acknowledged).toEqual(['m1']);
  expect(proxy.changed).toEqual([['m2', 0]]);
  expect(proxy.calls.filter((name) => name === 'notifyClientTermination')).toHaveLength(1);
});

test('a member leaves although its proxy refuses the notice, which it sends before its stream ends', async () => {
  const { proxy, subscribe } = await stage();
  const subscribed = await subscribe();
  proxy.refused.set('notifyClientTermination', ['FORBIDDEN', 'of this group']);

  await subscribed.stop();

  expect(proxy.calls.at(-1)).toBe('notifyClientTermination');
});

test('a member holds no more than its handlers need, and requests more when there is room', async () => {
  const { proxy, source, subscribe } = await stage();
  proxy.topics.set('orders', { brokers: { a: [0] }, type: 'FIFO' });
  const resume = gate();
  let handled = 0;
  await subscribe(
    async (batch) => {
      handled += 1;
      if (handled === 1) await resume.opened;
      acknowledgeAll(batch);
    },
    { batchSize: 1, concurrency: 1 },
  );
  proxy.deliver('orders', 'a', ...Array.from({ length: 32 }, (_, n) => ({ id: `m${n}` })));
  await expect.poll(() => handled, soon).toBe(1);
  proxy.deliver('orders', 'a', { id: 'last' });
  // An answer to a question that was asked later than the next one would have been.
  await source.redeliveryPeriodMs(['orders']);
  const full = proxy.received.length;

  resume.open();
  await expect.poll(() => proxy.acknowledged.length, soon).toBe(33);

  expect(full).toBe(1);
});

test('at most as many partitions are handled at a time as the concurrency allows', async () => {
  const { proxy, subscribe } = await stage();
  let running = 0;
  let most = 0;
  await subscribe(
    async (batch) => {
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      acknowledgeAll(batch);
    },
    { concurrency: 1 },
  );

  proxy.deliver('orders', 'a', { id: 'm1', queue: 0 }, { id: 'm2', queue: 1 });
  proxy.deliver('orders', 'b', { id: 'm3' });
  await expect.poll(() => proxy.acknowledged.toSorted(), soon).toEqual(['m1', 'm2', 'm3']);

  expect(most).toBe(1);
});

test('a refused receive is reported with the time until the next, and repeated as the same attempt', async () => {
  const { proxy, subscribe, told } = await stage();
  proxy.topics.set('orders', { brokers: { a: [0] }, type: 'FIFO' });
  proxy.refused.set('receiveMessage', ['INTERNAL_ERROR', 'of a broker']);
  await subscribe();
  await expect.poll(() => told.disconnected.length, soon).toBe(2);
  proxy.refused.clear();
  proxy.deliver('orders', 'a', { id: 'm1' });
  await expect.poll(() => proxy.acknowledged, soon).toEqual(['m1']);
  await expect.poll(() => proxy.received.length, soon).toBe(4);

  expect(told.disconnected).toMatchObject([
    [{ message: 'INTERNAL_ERROR: of a broker' }, 250],
    [{ message: 'INTERNAL_ERROR: of a broker' }, 500],
  ]);
  const attempts = proxy.received.map(({ attemptId }) => attemptId);
  expect(new Set(attempts.slice(0, 3)).size).toBe(1);
  expect(attempts[3]).not.toBe(attempts[2]);
  // What is asked now waits for messages: the next refusal is the first of its row.
  proxy.refused.set('receiveMessage', ['INTERNAL_ERROR', 'again']);
  proxy.deliver('orders', 'a');
  await expect
    .poll(() => told.disconnected[2], soon)
    .toMatchObject([{ message: 'INTERNAL_ERROR: again' }, 250]);
});

test.each<[string, string, object]>([
  ['CONSUMER_GROUP_NOT_FOUND', 'stock', { code: 'OUTBOX_GROUP_UNFIT' }],
  ['INTERNAL_ERROR', 'subscription group [stock] does not exist', { code: 'OUTBOX_GROUP_UNFIT' }],
  ['FORBIDDEN', 'not yours', { status: 'FORBIDDEN' }],
])('a receive that is refused by %s, %s', async (code, message, error) => {
  const { proxy, subscribe, told } = await stage();
  proxy.refused.set('receiveMessage', [code, message]);

  await subscribe();

  await expect.poll(() => told.disconnected[0]?.[0], soon).toMatchObject(error);
});

test('a broken stream is reported as no answer', async () => {
  const { proxy, subscribe, told } = await stage();
  proxy.mute.add('stream');

  await subscribe();

  await expect.poll(() => told.disconnected[0], soon).toMatchObject([{ name: 'NoAnswer' }, 250]);
});

test('an acknowledgement without an answer is sent three times, one that is refused once', async () => {
  const { proxy, subscribe } = await stage({ requestTimeoutMs: 1_000 });
  const asked = (): number => proxy.calls.filter((name) => name === 'ackMessage').length;
  const subscribed = await subscribe();
  proxy.mute.add('ackMessage');
  proxy.deliver('orders', 'a', { id: 'm1' });
  await expect.poll(asked, soon).toBe(3);
  proxy.mute.clear();
  proxy.refused.set('ackMessage', ['INVALID_RECEIPT_HANDLE', 'expired']);
  proxy.deliver('orders', 'b', { id: 'm2' });
  await expect.poll(asked, soon).toBe(4);

  await subscribed.stop();

  expect(asked()).toBe(4);
});

test('a reply without messages is not a failure', async () => {
  const { proxy, subscribe, told } = await stage();
  proxy.refused.set('receiveMessage', ['MESSAGE_NOT_FOUND', 'nothing']);

  await subscribe();
  await expect.poll(() => proxy.received.length, soon).toBeGreaterThan(4);

  expect(told.disconnected).toEqual([]);
});
