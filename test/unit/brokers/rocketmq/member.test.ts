import { expect, test } from 'vitest';
import type { IncomingBatch } from '../../../../src/brokers/source.ts';
import { gate } from '../../../support/fixtures/gate.ts';
import { acknowledgeAll } from '../subscriber.ts';
import { fired, soon, stage } from './source-stage.ts';

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

test('a reply without messages is not a failure', async () => {
  const { proxy, subscribe, told } = await stage();
  proxy.refused.set('receiveMessage', ['MESSAGE_NOT_FOUND', 'nothing']);

  await subscribe();
  await expect.poll(() => proxy.received.length, soon).toBeGreaterThan(4);

  expect(told.disconnected).toEqual([]);
});

test('a topic without a broker is missing like one that does not exist, and the next try is told', async () => {
  const { proxy, source, subscribe, told } = await stage();
  proxy.topics.delete('orders');
  proxy.topics.set('bills', { brokers: {}, type: 'FIFO' });
  const addresses = ['orders', 'bills'];
  const error = { code: 'OUTBOX_ADDRESS_MISSING', details: { addresses } };
  const over = new AbortController();
  const joining = subscribe(acknowledgeAll, { addresses, signal: over.signal }).catch(String);

  await expect.poll(() => told.disconnected[0], soon).toMatchObject([error, 200]);
  await expect(source.redeliveryPeriodMs(addresses)).rejects.toMatchObject(error);
  over.abort(new Error('stopped by the program'));

  expect(await joining).toBe('Error: stopped by the program');
  expect(told.assigned).toEqual([]);
});

test('a proxy that sends no settings in time cannot be joined', async () => {
  const { proxy, subscribe, told } = await stage({ requestTimeoutMs: 500 });
  proxy.group.told = false;
  const over = new AbortController();
  const joining = subscribe(acknowledgeAll, { signal: over.signal }).catch(String);

  const reasons = () => told.disconnected.map(([error]) => String(error)).join('\n');
  await expect.poll(reasons, soon).toContain(`${proxy.endpoint} sent no settings in time`);
  over.abort(new Error('enough'));

  expect(await joining).toBe('Error: enough');
  expect(told.assigned).toEqual([]);
});

test.each([
  ['a thousand', 1_000],
  ['an unlimited number of', 0],
  ['an unknown number of', undefined],
])('a group with %s deliveries, and topics without order, is joined', async (_what, maxAttempts) => {
  const { proxy, subscribe, told } = await stage();
  proxy.topics.set('orders', { brokers: { a: [3] }, type: 'NORMAL' });
  Object.assign(proxy.group, { fifo: false, maxAttempts });

  await subscribe();

  expect(told.assigned).toEqual([[{ address: 'orders', partition: 3 }]]);
});

test('a stream that has ended is opened again, and the member stays', async () => {
  const { proxy, subscribe, told } = await stage();
  const subscribed = await subscribe();

  proxy.endStreams();
  await expect.poll(() => proxy.settings.length, soon).toBe(2);
  await subscribed.stop();

  expect(proxy.settings[1]).toEqual(proxy.settings[0]);
  expect(told.assigned).toHaveLength(1);
});

test('a member rejoins when the queues of a topic have changed, but not when no proxy answers', async () => {
  const { proxy, subscribe, told } = await stage({ lookEveryMs: 20 });
  await subscribe();
  const asked = (): number => proxy.calls.filter((name) => name === 'queryRoute').length;
  proxy.refused.set('queryRoute', ['INTERNAL_ERROR', 'of a broker']);
  const before = asked();
  await expect.poll(asked, soon).toBeGreaterThan(before + 1);
  proxy.refused.clear();
  const same = asked();
  await expect.poll(asked, soon).toBeGreaterThan(same + 1);
  const unmoved = [...told.assigned];

  proxy.topics.set('orders', { brokers: { a: [0] }, type: 'FIFO' });
  await expect.poll(() => told.assigned.length, soon).toBe(2);

  expect(unmoved).toHaveLength(1);
  expect(told.assigned[1]).toEqual([{ address: 'orders', partition: 0 }]);
  expect(proxy.calls.filter((name) => name === 'notifyClientTermination')).toHaveLength(1);
  expect(told.disconnected).toEqual([]);
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
