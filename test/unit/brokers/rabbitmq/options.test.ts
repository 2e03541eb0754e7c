import { expect, test } from 'vitest';
import { endpointOf } from '../../../../src/brokers/rabbitmq/client/connection.ts';
import {
  type RabbitmqOptions,
  rabbitmqSettings,
} from '../../../../src/brokers/rabbitmq/transport/rabbitmq-options.ts';

const url = 'amqp://127.0.0.1';
const message = { id: '1', key: 'k', payload: '{}', headers: {} };

/** As plain JavaScript gives them. */
function untyped(options: Readonly<Record<string, unknown>>): RabbitmqOptions {
  return options as unknown as RabbitmqOptions;
}

test('a URL gives host, port, TLS, user and virtual host, with defaults for those that it omits', () => {
  const { servers } = rabbitmqSettings({
    url: 'amqp://one, amqps://o%40x:p%2Fw@[::1]:7000/my%2Fshop',
  }).connection;

  expect(servers).toEqual([
    { host: 'one', port: 5672, secure: false, user: 'guest', password: 'guest', vhost: '/' },
    { host: '::1', port: 7000, secure: true, user: 'o@x', password: 'p/w', vhost: 'my/shop' },
  ]);
  expect(rabbitmqSettings({ url: ['amqps://one'] }).connection.servers[0]?.port).toBe(5671);
});

test('the endpoint for display has no credentials', () => {
  const { connection } = rabbitmqSettings({
    url: 'amqp://me:secret@one:1/shop,amqp://me:secret@[::1]:2/shop',
  });

  expect(endpointOf(connection)).toBe('one:1,[::1]:2 shop');
});

test('a URL that is a function is called and checked on every read', () => {
  let given = 'nonsense';
  const { connection } = rabbitmqSettings({ url: () => given });

  expect(() => connection.servers).toThrow('amqp://user:password@host:port/vhost');
  given = url;
  expect(connection.servers[0]?.host).toBe('127.0.0.1');
});

test('the routing key is the key, or empty without one, unless the exchange has a function', () => {
  const settings = rabbitmqSettings({
    url,
    exchanges: { orders: { routingKey: ({ id }) => `order.${id}` } },
  });

  expect(settings.routingKey('other')(message)).toBe('k');
  expect(settings.routingKey('other')({ ...message, key: null })).toBe('');
  expect(settings.routingKey('constructor')(message)).toBe('k');
  expect(settings.routingKey('orders')(message)).toBe('order.1');
});

test('a queue is named after address and group, receives everything, and is read in order by default', () => {
  const { queues } = rabbitmqSettings({ url });

  expect(queues).toMatchObject({ declare: true, order: true });
  expect(queues.name('orders', 'stock')).toBe('orders.stock');
  expect(queues.bindingKeys('orders')).toEqual(['#']);
});

test.each([
  ['url', { url: 'http://x' }],
  ['url', { url: 'amqp://' }],
  ['url', { url: [] }],
  ['url', { url: [7] }],
  ['url', { url: undefined }],
  ['url', { url: 'amqp://x?heartbeat=5' }],
  ['url', { url: 'amqp://a:%zz@x' }],
  ['address', { url, address: 'x' }],
  ['tls', { url, tls: true }],
  ['tls.cafile', { url, tls: { cafile: 'x' } }],
  ['tls.timeout', { url, tls: { timeout: 5 } }],
  ['exchanges', { url, exchanges: 'orders' }],
  ['exchanges.orders', { url, exchanges: { orders: 'x' } }],
  ['exchanges.orders.type', { url, exchanges: { orders: { type: '' } } }],
  ['exchanges.orders.durable', { url, exchanges: { orders: { durable: true } } }],
  ['exchanges.orders.routingKey', { url, exchanges: { orders: { routingKey: 'x' } } }],
  ['exchanges.orders.bindingKeys', { url, exchanges: { orders: { bindingKeys: '#' } } }],
  ['queues', { url, queues: 'orders' }],
  ['queues.prefetch', { url, queues: { prefetch: 5 } }],
  ['queues.name', { url, queues: { name: 'orders' } }],
  ['queues.declare', { url, queues: { declare: 'no' } }],
  ['queues.order', { url, queues: { order: 1 } }],
  ['queues.deadLetterExchange', { url, queues: { deadLetterExchange: '' } }],
  ['queues.deliveryLimit', { url, queues: { deliveryLimit: 5 } }],
])('the option %s is refused with %j', (option, options) => {
  expect(() => rabbitmqSettings(untyped(options))).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      details: expect.objectContaining({ option }),
    }),
  );
});
