import { expect, test } from 'vitest';
import { splitAddress } from '../../../dev/servers/providers/given-address.ts';

test.each([
  ['localhost:7000', { host: 'localhost', port: 7000 }],
  ['broker.example', { host: 'broker.example', port: 9092 }],
  [' 10.0.0.1:1 ', { host: '10.0.0.1', port: 1 }],
  ['[::1]:9094', { host: '::1', port: 9094 }],
])('%j is split into host and port', (address, expected) => {
  expect(splitAddress('KAFKA_BROKERS', address, 9092)).toEqual(expected);
});

test.each(['', 'http://localhost:1', 'a:b', 'one two'])(
  '%j is refused and the variable is named',
  (address) => {
    expect(() => splitAddress('KAFKA_BROKERS', address, 9092)).toThrow(
      expect.objectContaining({ code: 'OUTBOX_CONFIG_INVALID', details: { variable: 'KAFKA_BROKERS' } }),
    );
  },
);
