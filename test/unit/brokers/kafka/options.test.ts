import { expect, test } from 'vitest';
import { kafkaConnection } from '../../../../src/brokers/kafka/transport/kafka-options.ts';

test('servers may be a string with commas or a list', () => {
  expect(kafkaConnection({ servers: 'a:1, b:2' }).servers).toEqual(['a:1', 'b:2']);
  expect(kafkaConnection({ servers: ['a:1', 'b:2'] }).servers).toEqual(['a:1', 'b:2']);
});

test('the default request timeout is 5 s, and by default nothing is logged', () => {
  expect(kafkaConnection({ servers: 'a:1' })).toMatchObject({
    clientId: 'temporal-outbox',
    logger: undefined,
    requestTimeoutMs: 5_000,
  });
});

for (const servers of ['', ',', 'localhost', 'a:1,b', []]) {
  test(`the servers ${JSON.stringify(servers)} are refused`, () => {
    expect(() => kafkaConnection({ servers })).toThrow(
      expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID' }),
    );
  });
}

test('consumer options have defaults, and each can be set', () => {
  const defaults = {
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 60_000,
    maxFetchBytes: 10_485_760,
    maxPartitionBytes: undefined,
  };
  expect(kafkaConnection({ servers: 'a:1' }).consumption).toEqual(defaults);
  expect(kafkaConnection({ servers: 'a:1', consumers: { rebalanceTimeout: '5m' } }).consumption).toEqual({
    ...defaults,
    rebalanceTimeoutMs: 300_000,
  });
  expect(
    kafkaConnection({
      servers: 'a:1',
      consumers: {
        sessionTimeout: '30 minutes',
        rebalanceTimeout: 6_000,
        maxFetchBytes: 65_536,
        maxPartitionBytes: 268_435_456,
      },
    }).consumption,
  ).toEqual({
    sessionTimeoutMs: 1_800_000,
    rebalanceTimeoutMs: 6_000,
    maxFetchBytes: 65_536,
    maxPartitionBytes: 268_435_456,
  });
});

test.each([
  ['compresion', { servers: 'a:1', compresion: 'x' }],
  ['servers', { servers: [undefined] }],
  ['servers', { servers: undefined }],
  ['servers', { servers: 7 }],
  ['clientId', { servers: 'a:1', clientId: '' }],
  ['tls', { servers: 'a:1', tls: 'yes' }],
  ['sasl', { servers: 'a:1', sasl: 'plain' }],
  ['logger', { servers: 'a:1', logger: {} }],
])('an invalid %s is refused by its name: %o', (option, options) => {
  expect(() => kafkaConnection(options as never)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      message: expect.stringContaining(`"${option}"`),
      details: expect.objectContaining({ option }),
    }),
  );
});
