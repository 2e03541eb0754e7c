import { expect, test } from 'vitest';
import { rocketmqConnection } from '../../../../src/brokers/rocketmq/transport/rocketmq-options.ts';

test('servers may be a string with commas or semicolons, or a list', () => {
  expect(rocketmqConnection({ servers: 'a:1, b:2;c:3' }).servers).toEqual(['a:1', 'b:2', 'c:3']);
  expect(rocketmqConnection({ servers: ['a:1', '[::1]:2'] }).servers).toEqual(['a:1', '[::1]:2']);
});

test('the default request timeout is 5 s, and the default invisible time is 30 s', () => {
  expect(rocketmqConnection({ servers: 'a:1' })).toMatchObject({
    credentials: undefined,
    invisibleMs: 30_000,
    namespace: '',
    requestTimeoutMs: 5_000,
    tls: false,
    brokerTls: false,
  });
});

test('brokers are asked as proxies are, with or without TLS, unless an option of their own tells', () => {
  const tls = { ca: 'a' };
  expect(rocketmqConnection({ servers: 'a:1', tls }).brokerTls).toBe(tls);
  expect(rocketmqConnection({ servers: 'a:1', tls, brokerTls: false }).brokerTls).toBe(false);
  expect(rocketmqConnection({ servers: 'a:1', brokerTls: () => true })).toMatchObject({
    tls: false,
    brokerTls: true,
  });
});

test('an option that is a function is called and checked when it is needed', () => {
  let servers = '';
  const connection = rocketmqConnection({
    servers: () => servers,
    accessKey: () => 'alice',
    secretKey: () => '',
  });
  expect(() => connection.servers).toThrow(/"servers"/);
  servers = 'a:1';
  expect(connection.servers).toEqual(['a:1']);
  expect(() => connection.credentials).toThrow(/"secretKey"/);
});

const given = { servers: 'a:1' };

test.each([
  ['endpoint', { ...given, endpoint: 'x' }],
  ['servers', { servers: '' }],
  ['servers', { servers: 'http://a:1' }],
  ['servers', { servers: 'a' }],
  ['servers', { servers: undefined }],
  ['servers', { servers: [7] }],
  ['accessKey', { ...given, accessKey: '', secretKey: 'x' }],
  ['accessKey', { ...given, secretKey: 'x' }],
  ['secretKey', { ...given, accessKey: 'x' }],
  ['secretKey', { ...given, accessKey: 'x', secretKey: 7 }],
  ['namespace', { ...given, namespace: 7 }],
  ['tls', { ...given, tls: 'yes' }],
  ['tls.caa', { ...given, tls: { caa: 'x' } }],
  ['brokerTls', { ...given, brokerTls: 'yes' }],
  ['tag', { ...given, tag: 'x' }],
])('an invalid %s is refused by its name: %o', (option, options) => {
  expect(() => rocketmqConnection(options as never)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      message: expect.stringContaining(`"${option}"`),
      details: expect.objectContaining({ option }),
    }),
  );
});
