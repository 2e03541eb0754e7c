import type { RocketmqConnection } from './connection.ts';

/** The name of a topic or group at brokers, which know no namespaces: proxies write them before the name. */
export function nameWithin({ namespace }: RocketmqConnection, name: string): string {
  return namespace === '' ? name : `${namespace}%${name}`;
}
