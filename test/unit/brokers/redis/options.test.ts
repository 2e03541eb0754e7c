import { expect, test } from 'vitest';
import { redisList } from '../../../../src/brokers/redis/transport/list-transport.ts';
import { redisPubSub } from '../../../../src/brokers/redis/transport/pub-sub-transport.ts';
import { redisStream } from '../../../../src/brokers/redis/transport/stream-transport.ts';

const url = 'redis://127.0.0.1:6379';
const all = { redisStream, redisList, redisPubSub };

const refused = (option: string): unknown =>
  expect.objectContaining({
    code: 'OUTBOX_OPTION_INVALID',
    details: expect.objectContaining({ option }),
  });

test.each(Object.entries(all))('%s needs only a URL, and shows its endpoint', (_name, make) => {
  const { endpoint } = make({ url: 'redis://ada:secret@cache.example:7000/2' });
  expect(endpoint).toBe('cache.example:7000');
  expect(make({ url: 'rediss://[::1]' }).endpoint).toBe('[::1]:6379');
});

const wrongs: readonly (readonly [option: string, wrong: object])[] = [
  ['maxlen', { maxlen: 1 }],
  ['url', { url: undefined }],
  ['url', { url: 'http://127.0.0.1' }],
  ['url', { url: 'redis://' }],
  ['url', { url: 'redis://host/orders' }],
  ['url', { url: 'redis://host?db=1' }],
  ['url', { url: 'redis://ada@host' }],
  ['url', { url: 'redis://ada:%zz@host' }],
  ['tls', { tls: 'yes' }],
  ['tls', { url: 'rediss://host', tls: false }],
  ['tls.caa', { tls: { caa: '' } }],
  ['credentials', { credentials: 'secret' }],
  ['credentials.pasword', { credentials: { pasword: 'x', password: 'x' } }],
  ['credentials.password', { credentials: { username: 'ada' } }],
  ['credentials.username', { credentials: { username: '', password: 'x' } }],
  ['clientName', { clientName: 'two words' }],
];

test.each(
  Object.entries(all).flatMap(([name, make]) =>
    wrongs.map(([option, wrong]) => [name, option, wrong, make] as const),
  ),
)('%s refuses an invalid %s by its name: %o', (_name, option, wrong, make) => {
  expect(() => make({ url, ...wrong })).toThrow(refused(option));
});

test.each([
  ['order', () => redisStream({ url, order: 'no' } as never)],
  ['order', () => redisList({ url, order: false } as never)],
  ['replicas', () => redisPubSub({ url, replicas: 1 } as never)],
  ['claimAfter', () => redisList({ url, claimAfter: '1 min' } as never)],
])('an invalid %s is refused: %s', (option, make) => {
  expect(make).toThrow(refused(option));
});

test('an option that is a function is called only when it is needed, and checked then', () => {
  const lazy = redisStream({ url: () => 'http://host' });
  expect(() => lazy.endpoint).toThrow(refused('url'));
});
