import { expect, test } from 'vitest';
import { kafkaConnection } from '../../../src/transports/kafka/kafka-options.ts';

test('brokers may be one text with commas or a list', () => {
  expect(kafkaConnection({ brokers: 'a:1, b:2' }).brokers).toEqual(['a:1', 'b:2']);
  expect(kafkaConnection({ brokers: ['a:1', 'b:2'] }).brokers).toEqual(['a:1', 'b:2']);
});

test('without options a broker has five seconds to answer and nothing is logged', () => {
  expect(kafkaConnection({ brokers: 'a:1' })).toMatchObject({
    clientId: 'temporal-outbox',
    logger: undefined,
    requestTimeoutMs: 5_000,
  });
});

for (const brokers of ['', ',', 'localhost', 'a:1,b', []]) {
  test(`the brokers ${JSON.stringify(brokers)} are refused`, () => {
    expect(() => kafkaConnection({ brokers })).toThrow(
      expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID' }),
    );
  });
}

for (const requestTimeout of [0, 99, 120_001, Number.NaN]) {
  test(`a request timeout of ${requestTimeout} ms is refused`, () => {
    expect(() => kafkaConnection({ brokers: 'a:1', requestTimeout })).toThrow(
      expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID' }),
    );
  });
}

test.each([
  ['compresion', { brokers: 'a:1', compresion: 'x' }],
  ['brokers', { brokers: [undefined] }],
  ['brokers', { brokers: undefined }],
  ['brokers', { brokers: 7 }],
  ['clientId', { brokers: 'a:1', clientId: '' }],
  ['ssl', { brokers: 'a:1', ssl: 'yes' }],
  ['sasl', { brokers: 'a:1', sasl: 'plain' }],
  ['logger', { brokers: 'a:1', logger: {} }],
])('a wrong %s is refused by its name: %o', (option, options) => {
  expect(() => kafkaConnection(options as never)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      message: expect.stringContaining(`\`${option}\``),
      details: expect.objectContaining({ option }),
    }),
  );
});
