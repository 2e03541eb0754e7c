import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A server that refuses all clients, until it starts to forward them to another one. */
export interface RefusingServer {
  /** `host:port` */
  readonly address: string;
  /** Number of connections so far. */
  readonly asked: () => number;
  /** Forwards connections to this `host:port` from now on. */
  admit(target: string): void;
}

/**
 * Starts the server; it ends with the test.
 *
 * @param answer what is written to each connection before it is closed
 */
export async function refusingServer(
  context: { readonly onTestFinished: (work: () => Promise<void>) => void },
  answer: Buffer = Buffer.alloc(0),
): Promise<RefusingServer> {
  let asked = 0;
  let target: string | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    asked += 1;
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    if (target === undefined) {
      if (answer.length === 0) socket.destroy();
      // The client of PostgreSQL sends first.
      else socket.once('data', () => socket.end(answer));
      return;
    }
    const [host, port] = target.split(':');
    const through = connect(Number(port), host);
    sockets.add(through);
    through.on('error', () => socket.destroy());
    socket.on('close', () => through.destroy());
    through.on('close', () => socket.destroy());
    socket.pipe(through).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.onTestFinished(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    asked: () => asked,
    admit: (to) => {
      target = to;
    },
  };
}

/** PostgreSQL's answer while it is recovering, in its wire protocol. */
export function startingUp(): Buffer {
  return postgresMessage('E', Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0'));
}

/** A message of PostgreSQL's wire protocol: type, length, body. */
export function postgresMessage(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
