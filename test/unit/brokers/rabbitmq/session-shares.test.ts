import { expect, test } from 'vitest';
import { pass } from '../../../support/fixtures/fake-time.ts';
import { assigned, deliver, handler, overWire, stage, times, untilOnWire } from './session-stage.ts';

const both = { addresses: ['orders', 'bills'] };
const lookAgainMs = 2_000;

test('a handled message is acknowledged on its queue, and the lag counts ready and unacknowledged ones', async () => {
  const { server, subscribe } = await stage();
  const { handle, hold, of, open } = handler();
  hold.these = ({ address }) => address === 'bills';
  server.ready.set('orders.stock', 5).set('bills.stock', 7);
  const subscribed = await overWire(subscribe(handle, both));

  await deliver(server, 'orders.stock', 'a', 'b');
  await deliver(server, 'bills.stock', 'c', 'd');
  await untilOnWire(() => of('orders').length === 2 && of('bills').length === 2);
  await pass(5);
  await untilOnWire(() => server.acknowledged.length === 1);
  const during = await overWire(subscribed.lag());
  const channels = server.times('ChannelOpen') - server.times('ChannelClose');
  open();
  await pass(5);
  await untilOnWire(() => server.acknowledged.length === 2);

  expect(during).toEqual([
    { address: 'orders', partition: 0, messages: 5 },
    { address: 'bills', partition: 0, messages: 9 },
  ]);
  // Of a question about lag no channel is left behind.
  expect(channels).toBe(2);
  expect(server.acknowledged).toEqual(['orders.stock 2 and before', 'bills.stock 2 and before']);
});

test('across all queues at most the allowed number of batches is in hand', async () => {
  const { server, subscribe } = await stage({}, 1);
  const { batches, handle, hold, of, open } = handler();
  hold.these = ({ address }) => address === 'orders';
  const subscribed = await overWire(subscribe(handle, both));
  await deliver(server, 'orders.stock', 'a');
  await untilOnWire(() => of('orders').length === 1);
  await deliver(server, 'bills.stock', 'b');
  await untilOnWire(async () => (await overWire(subscribed.lag())).every(({ messages }) => messages === 1));
  const during = batches.length;

  open();
  await untilOnWire(() => of('bills').length === 1);

  expect(during).toBe(1);
});

test('a deleted queue is declared again after two seconds, while the others continue', async () => {
  const { server, subscribe, told } = await stage();
  const { batches, handle, hold, of, open } = handler();
  hold.these = ({ address }) => address === 'orders';
  await overWire(subscribe(handle, both));
  await deliver(server, 'orders.stock', 'a');
  await untilOnWire(() => of('orders').length === 1);

  server.missing.add('orders.stock');
  server.cancel('orders.stock');
  await untilOnWire(() => batches[0]?.lost.aborted === true);
  await deliver(server, 'bills.stock', 'b');
  await untilOnWire(() => of('bills').length === 1);
  const toldBefore = told.disconnected.length;
  open();
  await untilOnWire(() => told.disconnected.length === 1);
  await pass(lookAgainMs - 1);
  const before = server.times('QueueDeclare', 'orders.stock');
  await pass(1);
  hold.these = () => false;
  await deliver(server, 'orders.stock', 'a');
  await untilOnWire(() => of('orders').length === 2);

  // It is reported when the batch in hand has ended, of which nothing is acknowledged.
  expect(toldBefore).toBe(0);
  expect(told.disconnected.map(([error, ms]) => [String(error), ms])).toEqual([
    ['Error: The queue orders.stock was deleted.', lookAgainMs],
  ]);
  // The second is the look at why.
  expect(before).toBe(2);
  expect(assigned(told)).toEqual([
    ['orders', 'bills'],
    ['bills', 'orders'],
  ]);
  expect(server.acknowledged.filter((one) => one.startsWith('orders'))).toEqual([]);
  expect(server.connections.ever).toBe(1);
});

test('a consumer canceled although its queue exists is reported with consumer_timeout', async () => {
  const { server, subscribe, told } = await stage();
  await overWire(subscribe());

  server.cancel('orders.stock');
  await untilOnWire(() => told.disconnected.length === 1);

  expect(String(told.disconnected[0]?.[0])).toContain(
    'it may have held a message for longer than consumer_timeout',
  );
  expect(server.times('ChannelClose')).toBe(2);
});

test('a channel closed by the server is reported with its reason and opened again', async () => {
  const { server, subscribe, told } = await stage();
  const { handle, of } = handler();
  await overWire(subscribe(handle));
  server.refuse = ({ name }) =>
    name === 'BasicAck' ? { code: 406, text: 'PRECONDITION_FAILED - unknown delivery tag 1' } : undefined;
  await deliver(server, 'orders.stock', 'a');
  await untilOnWire(() => of('orders').length === 1);
  await pass(5);
  await untilOnWire(() => told.disconnected.length === 1);
  server.refuse = () => undefined;
  await pass(lookAgainMs);
  await deliver(server, 'orders.stock', 'a');
  await untilOnWire(() => of('orders').length === 2);

  expect(String(told.disconnected[0]?.[0])).toContain('unknown delivery tag 1');
  expect(server.connections.ever).toBe(1);
});

test('a queue that cannot be declared again is tried every two seconds, and each reason is reported', async () => {
  const { server, subscribe, told } = await stage();
  await overWire(subscribe(undefined, both));
  server.missing.add('orders').add('orders.stock');
  server.cancel('orders.stock');

  for (let tries = 1; tries <= 3; tries += 1) {
    await untilOnWire(() => told.disconnected.length === tries);
    await pass(lookAgainMs);
  }
  await untilOnWire(() => told.disconnected.length === 4);
  server.missing.clear();
  await pass(lookAgainMs);
  await untilOnWire(() => told.assigned.length === 2);

  const [first, ...later] = told.disconnected.map(([error]) => String(error));
  expect(first).toBe('Error: The queue orders.stock was deleted.');
  expect(later.map((reason) => reason.includes("no exchange 'orders'"))).toEqual([true, true, true]);
});

test('messages held too long return together, after what is in hand, and are received again', async () => {
  const { server, subscribe, told } = await stage();
  const { batches, handle, hold, of, open } = handler();
  hold.these = () => true;
  await overWire(subscribe(handle));
  await deliver(server, 'orders.stock', 'a');
  await untilOnWire(() => of('orders').length === 1);
  server.deliver('orders.stock', 'b');
  await pass(times.holdForMs - 1);
  const before = batches[0]?.signal.aborted;
  await pass(1);
  await untilOnWire(() => batches[0]?.signal.aborted === true);
  hold.these = () => false;
  const closed = server.times('ChannelClose');
  open();
  await untilOnWire(() => server.times('ChannelClose') === closed + 1);
  await deliver(server, 'orders.stock', 'b');
  await untilOnWire(() => of('orders').length === 2);

  expect([before, closed, batches[0]?.lost.aborted]).toEqual([false, 0, false]);
  // Sent before the channel was closed.
  expect(server.acknowledged[0]).toBe('orders.stock 1 and before');
  expect(told.disconnected).toEqual([]);
  expect(told.assigned).toHaveLength(1);
});

test('queues are bound again periodically, and a missing exchange then stops nothing', async () => {
  const { server, subscribe, told } = await stage();
  const { handle, of } = handler();
  const subscribed = await overWire(subscribe(handle, both));
  server.missing.add('orders');

  await pass(times.bindEveryMs - 1);
  const before = server.times('QueueBind');
  await pass(1);
  await untilOnWire(() => server.times('QueueBind', 'bills.stock') === 2);
  // An answer is behind those before it, after which the next pause begins.
  await overWire(subscribed.lag());
  await pass(times.bindEveryMs);
  await untilOnWire(() => server.times('QueueBind', 'bills.stock') === 3);
  await deliver(server, 'orders.stock', 'a');
  await untilOnWire(() => of('orders').length === 1);

  expect(before).toBe(2);
  expect(server.times('QueueBind', 'orders.stock')).toBe(3);
  expect(told.disconnected).toEqual([]);
  // Of both looks for the bindings and the lag, without those that the server has closed.
  await untilOnWire(() => server.times('ChannelClose') === 4);
});
