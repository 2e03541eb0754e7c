import { expect, test } from 'vitest';
import { pass } from '../../../support/fixtures/fake-time.ts';
import { drafted, publishTo } from '../../../support/fixtures/outgoing.ts';
import { overWire, untilOnWire } from '../../../support/rabbitmq/wire-time.ts';
import { acknowledged, maybeStored, stage, unsent } from './transport-stage.ts';

test('each message goes to its exchange with its key, and is acknowledged once the server has confirmed it', async () => {
  const { send, server, transport } = await stage({
    exchanges: { bills: { routingKey: ({ key }) => `bill.${key}` } },
  });

  const [orders, bills] = await overWire(Promise.all([send('orders', 'a', 'b'), send('bills', 'c')]));

  expect([orders, bills]).toEqual([{ outcomes: [acknowledged, acknowledged] }, { outcomes: [acknowledged] }]);
  expect(server.published.map(({ body, exchange, routingKey }) => [exchange, routingKey, body])).toEqual(
    expect.arrayContaining([
      ['orders', 'a', 'a'],
      ['orders', 'b', 'b'],
      ['bills', 'bill.c', 'c'],
    ]),
  );
  expect(server.logins).toEqual([{ name: 'temporal-outbox relay', user: 'guest' }]);
  expect([
    transport.name,
    transport.endpoint,
    await overWire(transport.server?.() ?? Promise.resolve('none')),
  ]).toEqual(['rabbitmq', `127.0.0.1:${server.port}`, 'RabbitMQ 3.13.0']);
});

test('no more messages than allowed are without a confirmation', async () => {
  const { send, server } = await stage({ concurrency: 2 });
  await overWire(send('orders', 'first'));
  server.confirm = () => 'none';

  void send('orders', 'a', 'b', 'c');
  await untilOnWire(() => server.published.length === 3);
  await pass(10);

  expect(server.published.map(({ body }) => body)).toEqual(['first', 'a', 'b']);
});

test('an empty batch and one that was given up need no connection', async () => {
  const { server, transport } = await stage();

  const empty = await overWire(publishTo(transport, 'orders', []));
  const given = await overWire(publishTo(transport, 'orders', drafted({}), { signal: AbortSignal.abort() }));

  expect(empty).toEqual({ outcomes: [] });
  expect(given).toMatchObject({ outcomes: [unsent], hold: { reason: expect.any(String) } });
  expect(server.connections.ever).toBe(0);
});

test('an unreachable server holds everything, and nothing was sent', async () => {
  const { send, transport } = await stage({ url: 'amqp://127.0.0.1:1' });

  const { hold, outcomes } = await overWire(send('orders', 'a', 'b'));

  expect(outcomes).toEqual([unsent, unsent]);
  expect(hold).toMatchObject({ scope: 'transport', reason: expect.stringContaining('ECONNREFUSED') });
  await expect(overWire(transport.probe('orders'))).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringMatching(/^RabbitMQ: .*ECONNREFUSED/),
  });
});

test('a missing exchange holds its own messages, and its probe names it until it exists', async () => {
  const { send, server, transport } = await stage();
  server.missing.add('orders');

  const [orders, bills] = await overWire(Promise.all([send('orders', 'a'), send('bills', 'b')]));

  expect(orders).toMatchObject({
    outcomes: [unsent],
    hold: { scope: 'topic', reason: expect.stringContaining("no exchange 'orders'") },
  });
  expect(bills.outcomes).toEqual([acknowledged]);
  await expect(overWire(transport.probe('orders'))).rejects.toMatchObject({
    code: 'OUTBOX_ADDRESS_MISSING',
    message: expect.stringContaining("no exchange 'orders'"),
    details: { address: 'orders' },
  });
  server.missing.clear();
  await overWire(transport.probe('orders'));
  expect((await overWire(send('orders', 'a'))).outcomes).toEqual([acknowledged]);
  expect(server.connections.ever).toBe(1);
  // Of a probe no channel is left behind.
  expect(server.times('ChannelClose')).toBe(1);
});

test('an exchange to which this user may not write is not tried again for ten seconds, whatever a probe finds', async () => {
  const { send, server, transport } = await stage();
  server.confirm = () => ({ code: 403, text: 'ACCESS_REFUSED - write access to exchange' });
  const refused = await overWire(send('orders', 'a'));
  server.confirm = () => 'ack';

  await pass(9_900);
  const early = overWire(transport.probe('orders'));
  await expect(early).rejects.toMatchObject({
    code: 'OUTBOX_SERVER_UNAVAILABLE',
    message: expect.stringContaining('ACCESS_REFUSED'),
  });
  await overWire(transport.probe('bills'));
  await pass(100);
  await overWire(transport.probe('orders'));

  expect(refused).toMatchObject({ outcomes: [unsent], hold: { scope: 'topic' } });
});

test('an exchange that left a message in doubt is paused, longer each time, until one is acknowledged', async () => {
  const { send, server, transport } = await stage();
  const doubtful = async () => {
    server.confirm = () => 'none';
    const sent = send('orders', 'a');
    const [before] = [server.published.length];
    await untilOnWire(() => server.published.length > before);
    await pass(1_000);
    const result = await overWire(sent);
    server.confirm = () => 'ack';
    return result;
  };
  const first = await doubtful();
  const [during, bills] = await overWire(Promise.all([send('orders', 'b'), send('bills', 'c')]));
  await expect(overWire(transport.probe('orders'))).rejects.toThrow('orders left messages in doubt 1 times');
  await pass(500);
  await doubtful();
  const again = await overWire(send('orders', 'b'));
  await pass(1_000);
  const after = await overWire(send('orders', 'b'));
  await doubtful();
  const anew = await overWire(send('orders', 'b'));

  expect(first).toMatchObject({ outcomes: [maybeStored], hold: { scope: 'topic' } });
  expect(during).toMatchObject({
    outcomes: [unsent],
    hold: {
      scope: 'topic',
      reason: expect.stringContaining('in doubt 1 times in a row; the next is sent in 1 s'),
    },
  });
  expect(bills.outcomes).toEqual([acknowledged]);
  expect(again.hold?.reason).toContain('in doubt 2 times in a row');
  expect(after.outcomes).toEqual([acknowledged]);
  expect(anew.hold?.reason).toContain('in doubt 1 times in a row');
});
