import { expect, test } from 'vitest';
import { ReceivedRecord } from '../../../../src/brokers/kafka/source/received-record.ts';

function keyOf(key: Buffer | null): string | null {
  const record = { key, value: null, timestamp: '0', attributes: 0, offset: '0', headers: {} };
  return new ReceivedRecord('orders', 0, record).key;
}

test('a key is decoded as text', () => {
  expect(keyOf(Buffer.from('order-42 ☃'))).toBe('order-42 ☃');
  // The replacement character may itself be in a text.
  expect(keyOf(Buffer.from('a\u{fffd}'))).toBe('a\u{fffd}');
  expect(keyOf(null)).toBeNull();
});

test('keys that are not valid text stay different', () => {
  const keys = [[0xff], [0xfe], [0xc3, 0x28], [0xe2, 0x28]].map((bytes) => keyOf(Buffer.from(bytes)));
  expect(new Set(keys).size).toBe(4);
  expect(Buffer.from(keys[2] ?? '', 'latin1')).toEqual(Buffer.from([0xc3, 0x28]));
});
