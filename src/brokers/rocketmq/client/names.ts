import type { RocketmqConnection } from './connection.ts';

/** The name of a topic or group at brokers. They have no namespaces; proxies prefix the name with it. */
export function nameWithin({ namespace }: RocketmqConnection, name: string): string {
  return namespace === '' ? name : `${namespace}%${name}`;
}
