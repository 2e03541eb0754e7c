import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the ephemeral port ranges of Linux (from 32768) and macOS (from 49152): a server that is stopped for a while
// finds its port free again.
const lowestPort = 15_000;
const highestPort = 32_000;

/**
 * A free port of 127.0.0.1: the wanted one, else a random one from 15,000 to 32,000.
 *
 * The port is not reserved: a server that finds it taken is started again on another one.
 */
export async function freePort(wanted?: number): Promise<number> {
  if (wanted !== undefined && (await canListen(wanted))) return wanted;
  for (;;) {
    const port = randomInt(lowestPort, highestPort);
    if (await canListen(port)) return port;
  }
}

/** Whether a server could listen on this port of 127.0.0.1 now. */
export function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
