import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What lies before RabbitMQ: a proxy that can be cut. */
export interface Network {
  /** Where RabbitMQ is, for those behind the network. */
  readonly url: string;
  /** Ends all connections, and takes no more. */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

export async function startNetwork(brokerUrl: string): Promise<Network> {
  const broker = new URL(brokerUrl);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(broker.port || 5672), broker.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {}); // "close" follows
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  const listen = async (port: number): Promise<void> => {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(broker);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    cut: async () => {
      const closed = once(server.close(), 'close');
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    mend: () => listen(port),
  };
}
