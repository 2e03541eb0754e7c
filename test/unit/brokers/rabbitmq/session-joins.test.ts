import { expect, test } from 'vitest';
import { pass, soFar } from '../../../support/fixtures/fake-time.ts';
import { assigned, deliver, handler, overWire, stage, times, untilOnWire } from './session-stage.ts';

const both = { addresses: ['orders', 'bills'] };
const disconnections = (told: { readonly disconnected: readonly (readonly [unknown, number])[] }) =>
  told.disconnected.map(([, ms]) => ms);

test('every queue is declared and bound before the first message is received from any', async () => {
  const { server, subscribe, told } = await stage({
    exchanges: { bills: { bindingKeys: ['eu.#', 'us.#'] } },
  });

  await overWire(subscribe(undefined, both));

  const made = server.asked.filter(({ name }) => /^(Queue|BasicConsume|BasicQos)/.test(name));
  expect(made.map(({ fields, name }) => [name, fields['queue'] ?? fields['prefetchCount']])).toEqual([
    ['QueueDeclare', 'orders.stock'],
    ['QueueBind', 'orders.stock'],
    ['BasicQos', 20],
    ['QueueDeclare', 'bills.stock'],
    ['QueueBind', 'bills.stock'],
    ['QueueBind', 'bills.stock'],
    ['BasicQos', 20],
    ['BasicConsume', 'orders.stock'],
    ['BasicConsume', 'bills.stock'],
  ]);
  const bound = made.filter(({ name }) => name === 'QueueBind');
  expect(bound.map(({ fields }) => [fields['exchange'], fields['routingKey']])).toEqual([
    ['orders', '#'],
    ['bills', 'eu.#'],
    ['bills', 'us.#'],
  ]);
  expect(assigned(told)).toEqual([['orders', 'bills']]);
  expect(told.disconnected).toEqual([]);
  expect(server.logins).toEqual([{ name: 'temporal-outbox consumer stock', user: 'guest' }]);
});

test('the first join waits for all addresses, each try after a longer pause on a new connection', async () => {
  const { server, subscribe, told } = await stage();
  server.missing.add('bills');
  const joining = soFar(subscribe(undefined, both));

  for (const [tries, ms] of [200, 400, 800, 1_600, 2_000, 2_000].entries()) {
    await untilOnWire(() => told.disconnected.length === tries + 1);
    await untilOnWire(() => server.connections.open === 0);
    await pass(ms - 1);
    const before = server.connections.ever;
    await pass(1);
    await untilOnWire(() => server.connections.ever === before + 1);
  }
  const before = [joining.state, told.assigned.length, server.times('BasicConsume')];
  await untilOnWire(() => told.disconnected.length === 7);
  server.missing.clear();
  await pass(2_000);
  await untilOnWire(() => joining.state === 'resolved');

  expect(before).toEqual(['open', 0, 0]);
  expect(disconnections(told).slice(0, 6)).toEqual([200, 400, 800, 1_600, 2_000, 2_000]);
  expect(told.disconnected[0]?.[0]).toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    message: expect.stringMatching(/^Nothing is received from bills: .*no exchange 'bills'/),
    details: { addresses: ['bills'], queue: 'bills.stock' },
  });
  expect(assigned(told)).toEqual([['orders', 'bills']]);
});

test('a join that took too long rejects when its connection has ended, not before', async () => {
  const { server, subscribe } = await stage();
  server.mute.add('QueueDeclare');
  const joining = soFar(subscribe(undefined, { joinWithinMs: 500 }));
  await untilOnWire(() => server.times('QueueDeclare') === 1);

  await pass(500);
  const before = joining.state;
  await pass(500);
  await untilOnWire(() => joining.state === 'rejected');

  expect(before).toBe('open');
  expect(joining.error).toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining('could not be joined'),
  });
});

test('a join ends at once with the reason of its signal', async () => {
  const { server, subscribe, told } = await stage();
  server.missing.add('orders');
  const ending = new AbortController();
  const joining = soFar(subscribe(undefined, { signal: ending.signal }));
  await untilOnWire(() => told.disconnected.length === 1);

  ending.abort(new Error('enough'));
  await untilOnWire(() => joining.state === 'rejected');

  expect(String(joining.error)).toBe('Error: enough');
});

test.each([
  [{}, { 'x-queue-type': 'quorum', 'x-single-active-consumer': true }],
  [{ order: false }, { 'x-queue-type': 'quorum' }],
  [
    { order: false, deliveryLimit: 7, deadLetterExchange: 'dead' },
    {
      'x-queue-type': 'quorum',
      'x-delivery-limit': 7,
      'x-dead-letter-exchange': 'dead',
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    },
  ],
])('queues %j are declared with %j', async (queues, wanted) => {
  const { server, subscribe } = await stage({ queues });

  await overWire(subscribe());

  expect(server.asked.find(({ name }) => name === 'QueueDeclare')?.fields['arguments']).toEqual(wanted);
});

test.each([
  ['3.13.0', 1],
  ['4.0.1', 2],
])(
  'a queue of RabbitMQ %s with other arguments is reported with the next step',
  async (version, declared) => {
    const { server, subscribe, told } = await stage();
    server.version = version;
    server.refuse = ({ name }) =>
      name === 'QueueDeclare'
        ? { code: 406, text: "PRECONDITION_FAILED - inequivalent arg 'x-queue-type'" }
        : undefined;
    void soFar(subscribe());
    await untilOnWire(() => told.disconnected.length === 1);

    expect(String(told.disconnected[0]?.[0])).toMatch(
      /^Error: The queue orders.stock exists with other arguments: .*inequivalent arg.* Delete the queue/,
    );
    // A second time as servers before RabbitMQ 4 had it.
    expect(server.times('QueueDeclare')).toBe(declared);
    expect(server.times('BasicConsume')).toBe(0);
  },
);

test('from RabbitMQ 4 on a queue is declared without a limit of deliveries', async () => {
  const { server, subscribe, told } = await stage();
  server.version = '4.0.1';

  await overWire(subscribe());

  expect(server.asked.find(({ name }) => name === 'QueueDeclare')?.fields['arguments']).toMatchObject({
    'x-delivery-limit': -1,
  });
  expect(told.noticed).toEqual([]);
});

test('a queue declared before the server limited deliveries is consumed and reported', {
  tags: ['rabbitmq-order-and-effects'],
}, async () => {
  const { server, subscribe, told } = await stage();
  const { batches, handle } = handler();
  server.version = '4.0.1';
  server.refuse = ({ fields, name }) =>
    name === 'QueueDeclare' && JSON.stringify(fields).includes('x-delivery-limit')
      ? { code: 406, text: "PRECONDITION_FAILED - inequivalent arg 'x-delivery-limit'" }
      : undefined;

  const joining = soFar(subscribe(handle));
  await untilOnWire(() => joining.state === 'resolved' || told.disconnected.length > 0);
  expect(told.disconnected).toEqual([]);
  await deliver(server, 'orders.stock', 'a');
  await untilOnWire(() => batches.length === 1);

  expect(told.noticed).toMatchObject([
    {
      type: 'deliveries-limited',
      address: 'orders',
      error: {
        code: 'OUTBOX_DELIVERIES_LIMITED',
        message: expect.stringContaining('The queue orders.stock was declared before RabbitMQ 4.0'),
        next: expect.stringContaining('when it is empty'),
      },
    },
  ]);
});

test('a queue declared elsewhere is only looked up and never bound', async () => {
  const { server, subscribe } = await stage({ queues: { declare: false, name: () => 'own' } });

  const subscribed = await overWire(subscribe());
  await pass(times.bindEveryMs);
  // An answer is behind all that was asked before.
  await overWire(subscribed.lag());

  expect(server.asked.find(({ name }) => name === 'QueueDeclare')?.fields).toMatchObject({
    queue: 'own',
    passive: true,
  });
  expect(server.times('QueueBind')).toBe(0);
});

test('a join at an unreachable server rejects with its address and the reason', async () => {
  const { subscribe, told } = await stage({ url: 'amqp://127.0.0.1:1/shop' });
  const joining = soFar(subscribe(undefined, { joinWithinMs: 100 }));
  await untilOnWire(() => told.disconnected.length === 1);

  await pass(100);
  await untilOnWire(() => joining.state === 'rejected');

  expect(joining.error).toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringMatching(
      /^The group "stock" could not be joined at 127.0.0.1:1 shop: .*ECONNREFUSED/,
    ),
    details: { group: 'stock', addresses: ['orders'] },
  });
});
