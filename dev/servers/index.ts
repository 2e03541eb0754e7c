export { type LocalKafka, startKafka } from './kafka/kafka.ts';
export { deleteKept, keptData, projectName, requireFreePorts, usualPorts } from './kept-servers.ts';
export type { Environment, LocalNode, LocalPorts } from './local-options.ts';
export { type OptionalServer, optionalServers } from './optional-servers.ts';
export { startPostgres } from './postgres/postgres.ts';
export { freePort } from './process/free-port.ts';
export { startRabbitmq } from './rabbitmq/rabbitmq.ts';
export { type LocalRedis, startRedis } from './redis/redis.ts';
export { startRocketmq } from './rocketmq/rocketmq.ts';
export {
  runServers,
  type ServerAddresses,
  type ServerChoice,
  type StartedServers,
  withServers,
} from './servers.ts';
export { type LocalServers, startTogether } from './start-together.ts';
export { searchAttributes, startTemporal } from './temporal/temporal.ts';
export { timeSkippingServer } from './temporal/time-skipping.ts';
