import { redisClient } from './redis-package.ts';
import type { RedisServer } from './redis-server.ts';

/** A connection, as the client makes it. */
export type RedisClient = ReturnType<typeof openClient>;

/** A client that gives up at once: when to try again is decided by who asks. It is not connected yet. */
export function openClient({ clientName, target }: RedisServer, connectsWithinMs: number) {
  const { credentials, database, host, port, tls } = target;
  const socket = { host, port, reconnectStrategy: false, connectTimeout: connectsWithinMs } as const;
  const opened = redisClient().createClient({
    // Push messages of the server and its knowledge of the library are of no use here, and cost round trips.
    maintNotifications: 'disabled',
    disableClientInfo: true,
    disableOfflineQueue: true,
    name: clientName,
    database,
    ...credentials,
    // Not its `url`: an error about that one repeats it, password and all.
    socket:
      tls === false ? socket : { ...(typeof tls === 'object' && { ...tls }), ...socket, tls: true as const },
  });
  return opened;
}
