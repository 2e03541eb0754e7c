import { expect, test } from 'vitest';
import { StreamEntry } from '../../../../src/brokers/redis/source/stream-entry.ts';

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
