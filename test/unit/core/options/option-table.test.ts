import { expect, test } from 'vitest';
import type { Duration } from '../../../../src/core/duration.ts';
import { listOf, object, recordOf, type Table } from '../../../../src/core/options/collections.ts';
import { callable, type Lazy, lazy } from '../../../../src/core/options/lazy.ts';
import { assertOptions, optionTable } from '../../../../src/core/options/option-table.ts';
import type { Reader } from '../../../../src/core/options/reader.ts';
import { servers, serverUrl, several } from '../../../../src/core/options/servers.ts';
import { tls, tlsOptions } from '../../../../src/core/options/tls.ts';
import {
  duration,
  either,
  flag,
  func,
  matching,
  oneOf,
  optional,
  text,
  where,
  whole,
} from '../../../../src/core/options/values.ts';

interface Options {
  readonly url: Lazy<string>;
  readonly timeout?: Duration;
  readonly inner?: { readonly size?: number };
}

const table = {
  url: lazy(text()),
  timeout: duration('100ms', '2 min', '5s'),
  inner: optional(object({ size: whole(1, 10_000, 7) })),
} satisfies Table<Options>;
const options = optionTable('shop()', table, { shop: 1 });

/** The error with which something fails. */
function failure(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

const refused = (message: string, details: object): unknown =>
  expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', message, details });

/** What the reader makes of a value. */
const readBy = (reader: Reader<unknown>, given: unknown): unknown =>
  optionTable('shop()', { it: reader }).read({ it: given }).it;

test('options are read by their table, with defaults, and durations in milliseconds', () => {
  const { inner, timeout, url } = options.read({ url: 'a', inner: {} });
  expect([url(), timeout, inner?.size]).toEqual(['a', 5_000, 7]);
  expect(options.read({ url: 'a', timeout: '1s' }).inner).toBeUndefined();
});

test.each<[object, string, object]>([
  [{ url: 'a', x: 1 }, 'Unknown option "x" of shop(): use one of url, timeout, inner.', { option: 'x' }],
  [
    { url: 'a', inner: { x: 1 } },
    'Unknown option "inner.x" of shop(): use one of size.',
    { option: 'inner.x' },
  ],
  [{}, 'The option "url" of shop() must be a text that is not empty.', { option: 'url' }],
  [
    { url: 'a', timeout: 99 },
    'The option "timeout" of shop() must be a duration of 100 ms to 2 minutes.',
    { option: 'timeout', value: 99 },
  ],
  [
    { url: 'a', inner: { size: 0 } },
    'The option "inner.size" of shop() must be a whole number from 1 to 10,000.',
    { option: 'inner.size', value: 0 },
  ],
  [{ url: 'a', inner: [] }, 'The option "inner" of shop() must be an object.', { option: 'inner' }],
])('%j is refused in the words of its option', (given, message, details) => {
  expect(failure(() => options.read(given))).toEqual(refused(message, { ...details, shop: 1 }));
});

test('options that are not an object or do not fit together are refused in the same words', () => {
  expect(failure(() => options.read('a'))).toEqual(
    refused('The options of shop() must be an object.', { option: 'options', shop: 1 }),
  );
  expect(options.invalid('url', 'is required', 7)).toEqual(
    refused('The option "url" of shop() is required.', { option: 'url', shop: 1, value: 7 }),
  );
  expect(failure(() => assertOptions('send', { b: 1 }, ['a']))).toEqual(
    refused('Unknown option "b" of send: use one of a.', { option: 'b' }),
  );
  expect(failure(() => assertOptions('send', 'b' as unknown as object, ['a']))).toEqual(
    refused('The options of send must be an object.', { option: 'options' }),
  );
  expect(() => assertOptions('send', { a: 1 }, ['a'])).not.toThrow();
});

test('a function is called and its value checked whenever it is needed, also if it returns undefined', () => {
  let given: string | undefined = 'a';
  const { url } = options.read({ url: () => given });
  expect(url()).toBe('a');
  given = undefined;
  expect(failure(url)).toEqual(
    refused('The option "url" of shop() must be a text that is not empty.', { option: 'url', shop: 1 }),
  );
  const switched = optionTable('shop()', { tls: lazy(tls(), false) });
  expect(switched.read({}).tls()).toBe(false);
  expect(switched.read({ tls: () => undefined }).tls).toThrow('must be true, false or options');
  const vault = new Error('sealed');
  const fails = (): never => {
    throw vault;
  };
  expect(failure(options.read({ url: fails }).url)).toBe(vault);
});

test('a value that may be a function is returned as it is', () => {
  const secret = (): string => '';
  expect(readBy(callable(text()), secret)).toBe(secret);
  expect(readBy(callable(text()), 'a')).toBe('a');
  expect(() => readBy(callable(text()), '')).toThrow('must be a text that is not empty');
});

const amqp = serverUrl(
  [
    ['amqp', 5672],
    ['amqps', 5671],
  ],
  'amqp://host',
);
const even = where(whole(0, 10), 'must be even', (given) => given % 2 === 0);
const run = (): void => undefined;

test.each<[string, Reader<unknown>, unknown, unknown]>([
  ['a range', whole(1, 3), 3, 3],
  ['a range without an end', whole(1, undefined), 2 ** 40, 2 ** 40],
  ['a fraction of a millisecond', duration(1), 0.4, 1],
  ['a duration as a string', duration(0, '1 day'), '0', 0],
  ['a switch', flag(true), undefined, true],
  ['a word', oneOf(['a', 'b'], 'b'), undefined, 'b'],
  ['a word or a duration', either(['forever'], duration(1), 'forever'), undefined, 'forever'],
  ['a duration or a word', either(['forever'], duration(1)), '2s', 2_000],
  ['a form', matching(/^a+$/, 'of a'), 'aa', 'aa'],
  ['a rule', even, 4, 4],
  ['a function', func(), run, run],
  ['a list', listOf(duration(1), 'a list'), ['1s', 2], [1_000, 2]],
  ['a record', recordOf(whole(1, 2), 'a record'), { x: 1 }, { x: 1 }],
  ['servers in a string', servers(), 'a:1, b:2;c:3', ['a:1', 'b:2', 'c:3']],
  ['servers in a list', servers({ ipv6: true }), ['[::1]:1'], ['[::1]:1']],
  ['TLS by a switch', tls(), true, true],
  ['TLS by options', tlsOptions(), { ca: 'x' }, { ca: 'x' }],
  [
    'URLs',
    several(amqp, /,/),
    'amqp://h, amqps://a%40:b@[::1]:7/p%2Fq',
    [
      { host: 'h', port: 5672, secure: false, username: '', password: '', path: '' },
      { host: '::1', port: 7, secure: true, username: 'a@', password: 'b', path: 'p/q' },
    ],
  ],
])('%s is read', (_what, reader, given, expected) => {
  expect(readBy(reader, given)).toEqual(expected);
});

test.each<[Reader<unknown>, readonly unknown[], string]>([
  [whole(1, 3), [0, 4, 1.5, '2', Number.NaN, undefined], 'must be a whole number from 1 to 3'],
  [whole(1, undefined), [0, 2 ** 60], 'must be a whole number of at least 1'],
  [duration(1), [0, -1, 'soon', '', Infinity, {}, '36501 days'], 'must be a duration of 1 ms to 36,500 days'],
  [flag(), [undefined, 'yes', 0], 'must be true or false'],
  [oneOf(['a', 'b']), ['c', undefined], "must be 'a' or 'b'"],
  [either([false], duration('1 hour', '1 day')), [true, 1], 'must be false or a duration of 1 hour to 1 day'],
  [text(), ['', 7, undefined, null], 'must be a text that is not empty'],
  [matching(/^a+$/, 'of a'), ['b', 7], 'must be of a'],
  [even, [3], 'must be even'],
  [func(), ['x', undefined], 'must be a function'],
  [listOf(whole(1, 2), 'a list', { least: 1, most: 2 }), [[], [1, 1, 1], 1, {}], 'must be a list'],
  [recordOf(whole(1, 2), 'a record'), ['x', null, []], 'must be a record'],
  [
    servers(),
    ['', ',', [], 'a', 'a:1,b', 'http://a:1', 'u:p@a:1', '[::1]:1', undefined],
    'must be host:port',
  ],
  [tls(), ['yes', undefined, null], 'must be true, false or options of tls.connect'],
  [tlsOptions(), [true, undefined], 'must be options of tls.connect'],
  [several(amqp, /,/), ['', 'http://h', 'amqp://', [7], undefined], 'must be amqp://host'],
  [amqp, ['amqp://h?a', 'amqp://h#a'], 'must not have a query'],
  [amqp, ['amqp://%zz@h'], 'must have a "%" written as %25'],
])('%o refuses %j', (reader, wrong, message) => {
  for (const given of wrong)
    expect(
      failure(() => readBy(reader, given)),
      String(given),
    ).toMatchObject({
      code: 'OUTBOX_OPTION_INVALID',
      message: expect.stringContaining(`The option "it" of shop() ${message}`),
    });
});

test('an invalid part of a value is named by its path', () => {
  const paths = (reader: Reader<unknown>, given: unknown): unknown => failure(() => readBy(reader, given));
  const named = (option: string): unknown =>
    expect.objectContaining({ details: expect.objectContaining({ option }) });
  expect(paths(listOf(whole(1, 2), 'a list'), [1, 3])).toEqual(named('it[1]'));
  expect(paths(recordOf(whole(1, 2), 'a record'), { x: 3 })).toEqual(named('it.x'));
  expect(paths(either([false], object({ size: whole(1, 2) })), { size: 3 })).toEqual(named('it.size'));
  expect(paths(tls(), { caa: 'x' })).toEqual(named('it.caa'));
});
