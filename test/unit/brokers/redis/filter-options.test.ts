import { expect, test } from 'vitest';
import {
  keyPart,
  resolveRedisFilterOptions,
} from '../../../../src/brokers/redis/filter/redis-filter-options.ts';

const url = 'redis://127.0.0.1:6379';

test('the defaults are a day, 50 ms and the first epoch', () => {
  expect(resolveRedisFilterOptions({ url })).toMatchObject({
    server: {
      endpoint: '127.0.0.1:6379',
      target: { host: '127.0.0.1', port: 6379, database: 0, tls: false },
    },
    namespace: 'temporal-outbox:seen:1',
    keepForMs: 86_400_000,
    requestTimeoutMs: 50,
  });
});

test.for([
  ['url', { url: 'nowhere' }],
  ['url', { url: 'http://127.0.0.1' }],
  ['prefix', { prefix: '' }],
  ['epoch', { epoch: '' }],
  ['keepFor', { keepFor: 999 }],
  ['keepFor', { keepFor: Number.NaN }],
  ['keepFor', { keepFor: '401 days' }],
  ['requestTimeout', { requestTimeout: 0 }],
  ['requestTimeout', { requestTimeout: '11s' }],
] as const)('an invalid %s is refused: %j', ([option, wrong]) => {
  expect(() => resolveRedisFilterOptions({ url, ...wrong })).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', details: expect.objectContaining({ option }) }),
  );
});

test('errors of a listener are ignored', () => {
  const { report } = resolveRedisFilterOptions({
    url,
    report: () => {
      throw new Error('no');
    },
  });

  expect(() => report({ type: 'redis-back', awayMs: 1 })).not.toThrow();
});

test('parts of a key contain no colon, so that no two pairs of epoch and group have the same key', () => {
  expect(keyPart('a:b')).not.toContain(':');
  expect(keyPart('a:b')).not.toBe(keyPart('a%3Ab'));
  expect(() => keyPart('half \ud800')).not.toThrow();
});
