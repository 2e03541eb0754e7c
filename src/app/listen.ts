import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { OutboxError } from '../core/errors.ts';
import { reasonOf } from '../core/reason.ts';

/**
 * Has a server of this process listen, and answers with its port.
 *
 * @param address port 0: any that is free
 * @throws OutboxError `OUTBOX_PORT_UNAVAILABLE` if the address is in use, not one of this machine, or not allowed
 */
export async function listen(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new OutboxError(
      'OUTBOX_PORT_UNAVAILABLE',
      `Cannot listen at ${host}:${port}: ${reasonOf(cause)}.`,
      {
        cause,
        details: { host, port },
      },
    );
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/** Node looks every half minute otherwise, and so much longer lives a connection that sends nothing. */
export const idleLimits = {
  requestTimeout: 5_000,
  headersTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
} as const;
const mostConnections = 100;

/** Ends the oldest connection for a new one beyond the limit: a probe that connects is answered, whoever keeps connections open. */
export function keepRoom(server: Server): void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size > mostConnections) oldest?.destroy();
  });
}
