import { expect, test } from 'vitest';
import { rocketmqConnection } from '../../../../src/brokers/rocketmq/transport/rocketmq-options.ts';

test('endpoints may be a string with commas or semicolons, or a list', () => {
  expect(rocketmqConnection({ endpoints: 'a:1, b:2;c:3' }).endpoints).toEqual(['a:1', 'b:2', 'c:3']);
  expect(rocketmqConnection({ endpoints: ['a:1', '[::1]:2'] }).endpoints).toEqual(['a:1', '[::1]:2']);
});

test('the default request timeout is 5 s, and the default invisible time is 30 s', () => {
  expect(rocketmqConnection({ endpoints: 'a:1' })).toMatchObject({
    credentials: undefined,
    invisibleMs: 30_000,
    namespace: '',
    requestTimeoutMs: 5_000,
    tls: false,
  });
});

test('an option that is a function is called and checked when it is needed', () => {
  let endpoints = '';
  const connection = rocketmqConnection({
    endpoints: () => endpoints,
    accessKey: () => 'alice',
    secretKey: () => '',
  });
  expect(() => connection.endpoints).toThrow(/"endpoints"/);
  endpoints = 'a:1';
  expect(connection.endpoints).toEqual(['a:1']);
  expect(() => connection.credentials).toThrow(/"secretKey"/);
});

test('an endpoint that contains a user is refused, and not repeated in the error', () => {
  let failure: unknown;
  try {
    rocketmqConnection({ endpoints: 'alice:wonderland@a:1' });
  } catch (error) {
    failure = error;
  }
  expect(failure).toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
  expect(JSON.stringify(failure)).not.toContain('wonderland');
});

const given = { endpoints: 'a:1' };

test.each([
  ['endpoint', { ...given, endpoint: 'x' }],
  ['endpoints', { endpoints: '' }],
  ['endpoints', { endpoints: 'http://a:1' }],
  ['endpoints', { endpoints: 'a' }],
  ['endpoints', { endpoints: undefined }],
  ['endpoints', { endpoints: [7] }],
  ['accessKey', { ...given, accessKey: '', secretKey: 'x' }],
  ['accessKey', { ...given, secretKey: 'x' }],
  ['secretKey', { ...given, accessKey: 'x' }],
  ['secretKey', { ...given, accessKey: 'x', secretKey: 7 }],
  ['namespace', { ...given, namespace: 7 }],
  ['tls', { ...given, tls: 'yes' }],
  ['tls.caa', { ...given, tls: { caa: 'x' } }],
  ['tag', { ...given, tag: 'x' }],
  ['requestTimeout', { ...given, requestTimeout: 99 }],
  ['requestTimeout', { ...given, requestTimeout: 120_001 }],
  ['invisibleTime', { ...given, invisibleTime: '9s' }],
  ['invisibleTime', { ...given, invisibleTime: '13h' }],
])('an invalid %s is refused by its name: %o', (option, options) => {
  expect(() => rocketmqConnection(options as never)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      message: expect.stringContaining(`"${option}"`),
      details: expect.objectContaining({ option }),
    }),
  );
});
