import { expect, test } from 'vitest';
import { pass, soFar } from '../../../support/fixtures/fake-time.ts';
import { assigned, overWire, stage, untilOnWire } from './session-stage.ts';

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

test('a join that took too long rejects with the missing address, and leaves no connection', async () => {
  const { server, subscribe, told } = await stage();
  server.missing.add('orders');
  const joining = soFar(subscribe(undefined, { joinWithinMs: 500 }));
  await untilOnWire(() => told.disconnected.length === 1);

  await pass(500);
  await untilOnWire(() => joining.state === 'rejected');
  await untilOnWire(() => server.connections.open === 0);
  const tries = server.connections.ever;
  await pass(60_000);

  expect(joining.error).toMatchObject({ code: 'OUTBOX_ADDRESS_MISSING' });
  expect(server.connections.ever).toBe(tries);
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
