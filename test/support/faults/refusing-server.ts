import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A server that lets nobody in, until it is told to hand everybody to another one. */
export interface RefusingServer {
  /** `host:port` */
  readonly address: string;
  /** Connections so far. */
  readonly asked: () => number;
  /** From now on connections go through to this `host:port`. */
  admit(target: string): void;
}

/**
 * Opens it; it ends with the test.
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
      // PostgreSQL's client speaks first.
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

/** What PostgreSQL answers while it recovers, as its protocol writes it. */
export function startingUp(): Buffer {
  return postgresMessage('E', Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0'));
}

/** A message of PostgreSQL's protocol: its type, its length, what it says. */
export function postgresMessage(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
