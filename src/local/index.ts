export type { KafkaOptions, LocalKafka } from './kafka.ts';
export { startKafka } from './kafka.ts';
export type {
  Environment,
  LocalNode,
  LocalOptions,
  LocalPorts,
  Progress,
  ServerSource,
} from './local-options.ts';
export type { LocalPostgres, PostgresOptions } from './postgres.ts';
export { startPostgres } from './postgres.ts';
export type { RunServersOptions } from './servers.ts';
export { runServers } from './servers.ts';
export type { LocalServers } from './start-together.ts';
export { startTogether } from './start-together.ts';
export type { LocalTemporal } from './temporal.ts';
export { searchAttributes, startTemporal } from './temporal.ts';
export { timeSkippingServer } from './time-skipping.ts';
