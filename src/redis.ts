export type { RedisCredentials, RedisServerOptions } from './brokers/redis/client/redis-server.ts';
export { redisFilter } from './brokers/redis/filter/redis-filter.ts';
export type {
  RedisFilterEvent,
  RedisFilterOptions,
  RedisFilterReport,
} from './brokers/redis/filter/redis-filter-options.ts';
export type { SeenFilter } from './brokers/seen-filter.ts';
export type { Duration } from './core/duration.ts';
export type { Lazy } from './core/options/lazy.ts';
