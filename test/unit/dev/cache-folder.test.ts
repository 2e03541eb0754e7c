import { expect, test } from 'vitest';
import { type CacheUser, cacheFolder } from '../../../dev/servers/providers/cache-folder.ts';

const linux: CacheUser = { platform: 'linux', root: false, home: '/home/ada' };

test('TEMPORAL_OUTBOX_CACHE names the folder, also for root', () => {
  expect(cacheFolder({ TEMPORAL_OUTBOX_CACHE: '/data/cache' }, { ...linux, root: true })).toBe('/data/cache');
});

test('for root it is not in the home folder, which PostgreSQL could not enter as another user', () => {
  expect(cacheFolder({}, { ...linux, home: '/root', root: true })).toBe('/var/cache/temporal-outbox');
});

test('for other users it is where the system keeps caches', () => {
  expect(cacheFolder({}, linux)).toBe('/home/ada/.cache/temporal-outbox');
  expect(cacheFolder({ XDG_CACHE_HOME: '/mnt/cache' }, linux)).toBe('/mnt/cache/temporal-outbox');
  expect(cacheFolder({}, { ...linux, platform: 'darwin', home: '/Users/ada' })).toBe(
    '/Users/ada/Library/Caches/temporal-outbox',
  );
});
