import type { LocalOptions } from './local-options.ts';
import { startRabbitmq } from './rabbitmq/rabbitmq.ts';
import { startRedis } from './redis/redis.ts';
import { startRocketmq } from './rocketmq/rocketmq.ts';

/** A server for one of the other transports, by the variable that names its address. */
interface AnotherServer {
  readonly variable: string;
  readonly address: string;
  stop(): Promise<void>;
}

const starts = {
  async redis(options: LocalOptions): Promise<AnotherServer> {
    const server = await startRedis(options);
    return { variable: 'REDIS_URL', address: server.url, stop: () => server.stop() };
  },
  async rabbitmq(options: LocalOptions): Promise<AnotherServer> {
    const server = await startRabbitmq(options);
    return { variable: 'RABBITMQ_URL', address: server.url, stop: () => server.stop() };
  },
  async rocketmq(options: LocalOptions): Promise<AnotherServer> {
    const server = await startRocketmq(options);
    return { variable: 'ROCKETMQ_ENDPOINTS', address: server.endpoints.join(','), stop: () => server.stop() };
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
