export type { Duration } from './core/duration.ts';
export type { Lazy } from './core/lazy.ts';
export { redisFilter } from './filters/redis/redis-filter.ts';
export type {
  RedisFilterEvent,
  RedisFilterOptions,
  RedisFilterReport,
} from './filters/redis/redis-filter-options.ts';
export type { SeenFilter } from './inbox/window/seen-filter.ts';
export type { RedisCredentials, RedisServerOptions } from './redis/redis-server.ts';
