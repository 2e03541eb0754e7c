import { expect, test } from 'vitest';
import { StreamEntry } from '../../../../src/brokers/redis/source/stream-entry.ts';
import { fieldsOf } from '../../../../src/brokers/redis/transport/stream-entry.ts';

const entry = (...fields: readonly string[]): StreamEntry =>
  new StreamEntry(
    'orders',
    '1795432000000-3',
    fields.map((field) => Buffer.from(field)),
  );

test('an entry of another program is read as a JSON object of its fields, without key and headers', () => {
  const read = entry('userId', '7', 'key', 'x', 'header:ce_id', 'y', '__proto__', 'z');

  expect(Buffer.from(read.body).toString()).toBe(
    '{"userId":"7","key":"x","header:ce_id":"y","__proto__":"z"}',
  );
  expect([read.key, read.header('ce_id'), read.headers]).toEqual([null, undefined, {}]);
});

test('the payload is found in any position', () => {
  expect(Buffer.from(entry('payload', 'p', 'key', 'k').body).toString()).toBe('p');
});

test('an entry of this library is read as the message that was sent', () => {
  const headers = { ce_type: 'orders', key: 'a header may have any name', payload: 'any' };
  const read = entry(...fieldsOf({ id: 'id-1', key: 'k', headers, payload: '{"a":1}' }));

  expect(read).toMatchObject({
    address: 'orders',
    partition: 0,
    offset: '1795432000000-3',
    key: 'k',
    headers,
  });
  expect(Buffer.from(read.body).toString()).toBe('{"a":1}');
  expect(read.timestamp).toEqual(new Date(1_795_432_000_000));
  expect([read.header('ce_type'), read.header('payload'), read.header('id')]).toEqual([
    'orders',
    'any',
    undefined,
  ]);
});

test('an entry without a key has no key, which differs from an empty key', () => {
  expect(entry(...fieldsOf({ id: 'i', key: null, headers: {}, payload: '' })).key).toBeNull();
  expect(entry(...fieldsOf({ id: 'i', key: '', headers: {}, payload: '' })).key).toBe('');
});
