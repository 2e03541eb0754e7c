import { expect, test } from 'vitest';
import { fromProperties, toProperties } from '../../../../src/brokers/rocketmq/client/properties.ts';
import { messageGroupOf } from '../../../../src/brokers/rocketmq/transport/message-group.ts';

/** Proxies refuse these in names and values, and brokers write properties with the first two between them. */
// oxlint-disable-next-line no-control-regex -- that is what it looks for
const control = /[\u0000-\u001F\u007F-\u009F]/;

test.each([
  ['plain', { a: 'b', ce_id: '1' }, 'key'],
  ['without a key', { a: 'b' }, null],
  ['beyond ASCII', { a: 'kůň 🐎' }, 'žluť'],
  ['control characters', { a: 'x\ny\u0001\u0002\u007F\u0085', b: 'plain' }, 'k\tk'],
  ['empty values', { a: '', b: ' ' }, 'key'],
  ['names with a meaning elsewhere', { constructor: '', toString: 'x' }, 'key'],
])('key and headers arrive unchanged as properties: %s', (_what, headers, key) => {
  const properties = toProperties(key, headers);

  expect(fromProperties(properties)).toEqual({ key: key ?? undefined, headers });
  for (const [name, value] of properties) {
    expect(`${name}${value}`).not.toMatch(control);
    expect(value).not.toBe('');
  }
});

test('a header that a property can carry is a property of that name, which other programs can read', () => {
  expect(toProperties('k', { a: '50%', b: '\n' })).toEqual([
    ['a', '50%'],
    ['outbox-key', 'k'],
    ['outbox-escaped', '{"b":"\\n"}'],
  ]);
});

test('properties of other programs are not changed, and internal ones of brokers are left out', () => {
  const properties = [
    ['__SHARDINGKEY', 'g'],
    ['x', '%41'],
    ['outbox-escaped', 'not JSON'],
  ] as const;
  expect(fromProperties(properties)).toEqual({ key: undefined, headers: { x: '%41' } });
  expect(fromProperties([['outbox-escaped', '{"a":1,"b":"c"}']])).toEqual({
    key: undefined,
    headers: { b: 'c' },
  });
});

test('the message group of a key is the key, or its hash if RocketMQ would refuse the key', () => {
  expect(messageGroupOf('order 7')).toBe('order 7');
  expect(messageGroupOf('x'.repeat(63))).toBe('x'.repeat(63));
  for (const key of ['x'.repeat(64), 'ž'.repeat(32), ' ', 'a\nb', 'a\u0085']) {
    const group = messageGroupOf(key);
    expect(group).toMatch(/^[\w-]{43}$/);
    expect(messageGroupOf(key)).toBe(group);
  }
  expect(messageGroupOf('a\nb')).not.toBe(messageGroupOf('a\nc'));
});
