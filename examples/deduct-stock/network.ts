import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage } from 'node:http';

/** What lies between the services: a proxy before the inventory, which can be cut, can lose answers, and can hang. */
export interface Network {
  /** From now on requests arrive, and their answers do not. */
  loseAnswers(): void;
  /** The next request gets nowhere, and stays open until it is ended. */
  hang(): { readonly hangs: () => boolean; readonly end: () => void };
  /** How many requests have come so far. */
  requests(): number;
  /** Nobody listens any more. */
  cut(): Promise<void>;
  mend(): Promise<void>;
}

export async function startNetwork(port: number, upstream: string): Promise<Network> {
  let losing = false;
  let requests = 0;
  let caught: ((request: IncomingMessage) => void) | undefined;
  const server = createServer((request, response) => {
    requests += 1;
    if (caught !== undefined) {
      caught(request);
      caught = undefined;
      return;
    }
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
    hang: () => {
      let hanging: IncomingMessage | undefined;
      caught = (request) => {
        hanging = request;
      };
      return { hangs: () => hanging !== undefined, end: () => hanging?.socket.destroy() };
    },
    requests: () => requests,
    cut: async () => {
      const closed = once(server.close(), 'close');
      server.closeAllConnections();
      await closed;
    },
    mend: listen,
  };
}
