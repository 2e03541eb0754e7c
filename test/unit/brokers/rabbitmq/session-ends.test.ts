import { expect, test, vi } from 'vitest';
import { pass, soFar } from '../../../support/fixtures/fake-time.ts';
import { assigned, deliver, handler, overWire, stage, times, untilOnWire } from './session-stage.ts';

const both = { addresses: ['orders', 'bills'] };
const lookAgainMs = 2_000;

/** A consumer of two queues that has a message of one in hand, until the test opens it. */
async function holding() {
  const staged = await stage();
  const handling = handler();
  handling.hold.these = () => true;
  const subscribed = await overWire(staged.subscribe(handling.handle, both));
  await deliver(staged.server, 'orders.stock', 'a');
  await untilOnWire(() => handling.of('orders').length === 1);
  return { ...staged, ...handling, subscribed };
}

test('after a join an unreachable server is tried after pauses of up to ten seconds, which start anew after a success', async () => {
  const { server, subscribe, told } = await stage();
  await overWire(subscribe());
  server.refuse = ({ name }) =>
    name === 'ConnectionOpen' ? { code: 541, text: 'INTERNAL_ERROR', connection: true } : undefined;
  server.cut();

  const pauses = [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000];
  for (const [tries, ms] of pauses.entries()) {
    await untilOnWire(() => told.disconnected.length === tries + 1);
    if (tries === pauses.length - 1) server.refuse = () => undefined;
    await pass(ms);
  }
  await untilOnWire(() => told.assigned.length === 2);
  server.cut();
  await untilOnWire(() => told.disconnected.length === pauses.length + 1);

  expect(told.disconnected.map(([, ms]) => ms)).toEqual([...pauses, 200]);
});

test('after a join a queue that may not be consumed at a reconnect is not reported as assigned', async () => {
  const { server, subscribe, told } = await stage();
  await overWire(subscribe(undefined, both));
  server.refuse = ({ fields, name }) =>
    name === 'BasicConsume' && fields['queue'] === 'orders.stock'
      ? { code: 403, text: 'ACCESS_REFUSED - to queue' }
      : undefined;
  server.cut();
  await untilOnWire(() => told.disconnected.length === 1);
  await pass(200);
  await untilOnWire(() => told.disconnected.length === 2);

  expect(String(told.disconnected[1]?.[0])).toContain('ACCESS_REFUSED - to queue');
  expect(assigned(told)).toEqual([['orders', 'bills'], ['bills']]);
});

test('a connection lost while a queue is looked for is opened again after its own pause at most', async () => {
  const { server, subscribe, told } = await stage();
  await overWire(subscribe(undefined, both));
  server.cancel('orders.stock');
  await untilOnWire(() => told.disconnected.length === 1);

  server.cut();
  await untilOnWire(() => told.disconnected.length === 2);
  await pass(200);
  await untilOnWire(() => told.assigned.length === 2);

  expect(told.disconnected.map(([, ms]) => ms)).toEqual([2_000, 200]);
  await pass(2_000);
  expect(server.times('BasicConsume', 'orders.stock')).toBe(2);
});

test('a stop lets the batch in hand end, acknowledges it, and closes channels before the connection', async () => {
  const { batches, of, open, server, subscribed, told } = await holding();

  const stopping = soFar(subscribed.stop());
  server.deliver('orders.stock', 'b');
  await overWire(subscribed.lag());
  const during = [stopping.state, batches[0]?.signal.aborted, batches[0]?.lost.aborted];
  open();
  await untilOnWire(() => stopping.state === 'resolved' && server.connections.open === 0);
  const asked = server.asked.length;
  const timers = vi.getTimerCount();
  await pass(times.bindEveryMs);

  expect(during).toEqual(['open', true, false]);
  expect(of('orders')).toEqual(['a']);
  const end = server.asked.map(({ name }) => name).filter((name) => /BasicAck|Close$/.test(name));
  expect(end.slice(-4)).toEqual(['BasicAck', 'ChannelClose', 'ChannelClose', 'ConnectionClose']);
  expect(server.acknowledged).toEqual(['orders.stock 1 and before']);
  expect([server.asked.length, told.disconnected.length]).toEqual([asked, 0]);
  expect(timers).toBe(0);
  expect(server.connections.ever).toBe(1);
});

test('a stop while waiting for a queue or the server ends at once and reports nothing more', async () => {
  const { server, subscribe, told } = await stage();
  const one = await overWire(subscribe());
  server.cancel('orders.stock');
  await untilOnWire(() => told.disconnected.length === 1);
  await overWire(one.stop());
  const two = await overWire(subscribe());
  server.cut();
  await untilOnWire(() => told.disconnected.length === 2);
  await overWire(two.stop());
  await pass(60_000);

  expect(told.disconnected).toHaveLength(2);
  expect(server.connections).toEqual({ ever: 2, open: 0 });
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

test('a consumer from which the server takes messages returns the others before it gets later ones', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const { batches, hold, of, open, server, told } = await holding();
  // As from RabbitMQ 4.3 on, when a message is unacknowledged for too long.
  server.cancel('orders.stock');
  await untilOnWire(() => batches[0]?.lost.aborted === true);
  hold.these = () => false;
  open();
  await untilOnWire(() => told.disconnected.length === 1);
  await pass(lookAgainMs);
  await deliver(server, 'orders.stock', 'b');
  await untilOnWire(() => of('orders').length === 2);

  expect(String(told.disconnected[0]?.[0])).toMatch(
    /canceled the consumer of the queue orders\.stock: it may have held a message for longer than consumer_timeout/,
  );
  const consumed = server.asked.filter(
    ({ fields, name }) => name === 'BasicConsume' && fields['queue'] === 'orders.stock',
  );
  const [first, again] = consumed.map((one) => server.asked.indexOf(one));
  const returned = server.asked.findIndex(
    ({ channel, name }) => name === 'ChannelClose' && channel === consumed[0]?.channel,
  );
  expect([first, returned, again].toSorted((x = -1, y = -1) => x - y)).toEqual([first, returned, again]);
  expect(returned).toBeGreaterThan(-1);
  expect(server.acknowledged).toEqual([]);
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

test('a handled message is acknowledged on its queue, and a question about the lag leaves no channel', async () => {
  const { server, subscribe } = await stage();
  const { handle, hold, of, open } = handler();
  hold.these = ({ address }) => address === 'bills';
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
    { address: 'orders', partition: 0, messages: 0 },
    { address: 'bills', partition: 0, messages: 2 },
  ]);
  // Those of the two queues.
  expect(channels).toBe(2);
  expect(server.acknowledged).toEqual(['orders.stock 2 and before', 'bills.stock 2 and before']);
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
