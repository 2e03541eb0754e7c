import { expect, test } from 'vitest';
import { acknowledgeAll } from '../subscriber.ts';
import { soon, stage } from './source-stage.ts';

test('the source has a name and no lag, and delivers no acknowledged message again', async () => {
  const { source, subscribe } = await stage();
  const subscribed = await subscribe();

  expect(source.name).toBe('rocketmq');
  expect(await source.redeliveryPeriodMs(['orders'])).toBe(0);
  await expect(source.redeliveryPeriodMs(['orders', 'gone'])).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    details: { addresses: ['gone'] },
  });
  await expect(subscribed.lag()).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_REFUSED',
    details: { group: 'stock' },
  });
});

test('a group cannot begin at the newest messages', async () => {
  const { proxy, subscribe } = await stage();

  await expect(subscribe(acknowledgeAll, { fromBeginning: false })).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    details: { option: 'fromBeginning', group: 'stock' },
  });
  expect(proxy.calls).toEqual([]);
});

type Spoil = (proxy: Awaited<ReturnType<typeof stage>>['proxy']) => void;

test.each<[string, Spoil, object]>([
  [
    'topics that are missing or have no broker',
    ({ topics }) => {
      topics.delete('orders');
      topics.set('bills', { brokers: {}, type: 'FIFO' });
    },
    { code: 'OUTBOX_ADDRESS_MISSING', details: { addresses: ['orders', 'bills'] } },
  ],
  [
    'a proxy that refuses to give the route',
    ({ refused }) => void refused.set('queryRoute', ['UNAUTHORIZED', 'no key']),
    { code: 'OUTBOX_SERVER_REFUSED', message: expect.stringContaining('UNAUTHORIZED: no key') },
  ],
  [
    'a proxy that refuses its members',
    ({ refused }) => void refused.set('telemetry', ['FORBIDDEN', 'of this group']),
    { code: 'OUTBOX_PRIVILEGE_MISSING', message: expect.stringContaining('FORBIDDEN: of this group') },
  ],
  [
    'a group that puts messages aside after few deliveries',
    ({ group }) => void (group.maxAttempts = 999),
    { code: 'OUTBOX_GROUP_UNFIT', message: expect.stringContaining('after 999 deliveries') },
  ],
  [
    'a group without order for topics with order',
    ({ group }) => void (group.fifo = false),
    {
      code: 'OUTBOX_GROUP_UNFIT',
      message: expect.stringMatching(/keeps no order, and orders is of type FIFO/),
    },
  ],
])('%s cannot be joined, and the connections are closed', async (_what, spoil, error) => {
  const { proxy, subscribe, told } = await stage();
  proxy.topics.set('bills', { brokers: { a: [0] }, type: 'NORMAL' });
  spoil(proxy);

  const joining = subscribe(acknowledgeAll, { addresses: ['orders', 'bills'], joinWithinMs: 500 });

  await expect(joining).rejects.toMatchObject(error);
  expect(told.disconnected[0]).toMatchObject([error, 200]);
  expect(told.assigned).toEqual([]);
});

test('a proxy that sends no settings in time cannot be joined', async () => {
  const { proxy, subscribe } = await stage({ requestTimeoutMs: 1_000 });
  proxy.group.told = false;

  await expect(subscribe(acknowledgeAll, { joinWithinMs: 1_500 })).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining(`${proxy.endpoint} sent no settings in time`),
  });
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

test('a join is tried again until it succeeds, or until the signal fires', async () => {
  const { proxy, subscribe, told } = await stage();
  proxy.topics.delete('orders');
  const over = new AbortController();
  const given = subscribe(acknowledgeAll, { signal: over.signal }).catch((error: unknown) => error);
  const joining = subscribe();
  await expect.poll(() => told.disconnected.length, soon).toBe(2);

  over.abort(new Error('stopped by the program'));
  proxy.topics.set('orders', { brokers: { a: [0] }, type: 'FIFO' });
  await joining;

  expect(await given).toMatchObject({ message: 'stopped by the program' });
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

test('a stream that has ended is opened again, and the member stays', async () => {
  const { proxy, subscribe, told } = await stage();
  const subscribed = await subscribe();

  proxy.endStreams();
  await expect.poll(() => proxy.settings.length, soon).toBe(2);
  await subscribed.stop();

  expect(proxy.settings[1]).toEqual(proxy.settings[0]);
  expect(told.assigned).toHaveLength(1);
});
