import type { LocalOptions } from './local-options.ts';
import { startRabbitmq } from './rabbitmq/rabbitmq.ts';
import { startRedis } from './redis/redis.ts';
import { startRocketmq } from './rocketmq/rocketmq.ts';

/** A server for one of the other transports. */
interface AnotherServer {
  /** Environment variables that say where it is. */
  readonly addresses: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const starts = {
  async redis(options: LocalOptions): Promise<AnotherServer> {
    const server = await startRedis(options);
    return { addresses: { REDIS_URL: server.url }, stop: () => server.stop() };
  },
  async rabbitmq(options: LocalOptions): Promise<AnotherServer> {
    const server = await startRabbitmq(options);
    return { addresses: { RABBITMQ_URL: server.url }, stop: () => server.stop() };
  },
  async rocketmq(options: LocalOptions): Promise<AnotherServer> {
    const server = await startRocketmq(options);
    const addresses = {
      ROCKETMQ_ENDPOINTS: server.endpoints.join(','),
      // Of proxies that were given, whoever gave them knows the name servers.
      ...(server.names === undefined ? {} : { ROCKETMQ_NAME_SERVERS: server.names }),
    };
    return { addresses, stop: () => server.stop() };
  },
};

/** A server that only some transports need. */
export type OptionalServer = keyof typeof starts;

/** All of them, in the order in which they are offered. */
export const optionalServers: readonly OptionalServer[] = ['redis', 'rabbitmq', 'rocketmq'];

/** Starts one of them. @throws what its start throws */
export function startOptional(name: OptionalServer, options: LocalOptions): Promise<AnotherServer> {
  return starts[name](options);
}
