import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';

/** What lies between the services: a proxy before the inventory, which can be cut, and can lose answers. */
export interface Network {
  /** From now on requests arrive, and their answers do not. */
  loseAnswers(): void;
  /** Nobody listens any more. */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

export async function startNetwork(port: number, upstream: string): Promise<Network> {
  let losing = false;
  const server = createServer((request, response) => {
    const { method, headers, url = '' } = request;
    const forwarded = forward(new URL(url, upstream), { method, headers }, (answer) => {
      if (losing) return void answer.resume().on('end', () => request.socket.destroy());
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  });
  const listen = async (): Promise<void> => {
    losing = false;
    if (!server.listening) await once(server.listen(port, '127.0.0.1'), 'listening');
  };
  await listen();
  return {
    loseAnswers: () => {
      losing = true;
    },
    cut: async () => {
      const closed = once(server.close(), 'close');
      server.closeAllConnections();
      await closed;
    },
    mend: listen,
  };
}
