import { once } from 'node:events';
import type { Server } from 'node:net';
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
