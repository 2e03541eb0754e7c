export { type LocalKafka, startKafka } from './kafka.ts';
export type { Environment, LocalNode } from './local-options.ts';
export { startPostgres } from './postgres.ts';
export { startRabbitmq } from './rabbitmq.ts';
export { type LocalRedis, startRedis } from './redis.ts';
export { runServers } from './servers.ts';
export { type LocalServers, startTogether } from './start-together.ts';
export { searchAttributes, startTemporal } from './temporal.ts';
export { timeSkippingServer } from './time-skipping.ts';
