import { redisClient } from './redis-package.ts';
import type { RedisServer } from './redis-server.ts';

/** A client of `@redis/client` with one connection. */
export type RedisClient = ReturnType<typeof openClient>;

/** A client that does not reconnect or queue: the caller decides when to retry. It is not connected yet. */
export function openClient({ clientName, target }: RedisServer, connectsWithinMs: number) {
  const { credentials, database, host, port, tls } = target;
  const socket = { host, port, reconnectStrategy: false, connectTimeout: connectsWithinMs } as const;
  const opened = redisClient().createClient({
    // Maintenance notifications and CLIENT SETINFO are not needed here, and cost round trips.
    maintNotifications: 'disabled',
    disableClientInfo: true,
    disableOfflineQueue: true,
    name: clientName,
    database,
    ...credentials,
    // Not the option `url`: its errors contain the URL with the password.
    socket:
      tls === false ? socket : { ...(typeof tls === 'object' && { ...tls }), ...socket, tls: true as const },
  });
  return opened;
}
