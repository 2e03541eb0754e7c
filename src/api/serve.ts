import { once } from 'node:events';
import { listen } from '../app/listen.ts';
import { requirePackages } from '../core/packages.ts';
import { startTimer } from '../core/timer.ts';
import type { ApiHandler } from './handler.ts';
import { noteAddress } from './remote-address.ts';

/** For how long a server waits, in milliseconds. */
export const serverTimes = { head: 10_000, request: 30_000, looked: 2_000, idle: 5_000, goodbye: 5_000 };
const mostConnections = 500;

/** Where a server listens. */
export interface Listening {
  readonly host: string;
  readonly port: number;
}

/** A server that runs. */
export interface RunningApi {
  readonly port: number;
  /** Ends streams, finishes what is being answered within five seconds, then closes. */
  stop(): Promise<void>;
}

/** Serves the API over HTTP. @param port 0 for a free one */
export async function serveApi(
  handler: ApiHandler,
  { host, port }: Listening,
  times = serverTimes,
): Promise<RunningApi> {
  requirePackages('api');
  const { createAdaptorServer } = await import('@hono/node-server');
  const { createServer } = await import('node:http');
  const server = createAdaptorServer({
    fetch: (request, { incoming }) => {
      noteAddress(request, incoming.socket.remoteAddress);
      return handler(request);
    },
    overrideGlobalObjects: false,
    createServer,
    serverOptions: {
      maxHeaderSize: 32_768,
      headersTimeout: times.head,
      requestTimeout: times.request,
      // Node looks every half minute otherwise, and so much longer lives a connection that sends nothing.
      connectionsCheckingInterval: times.looked,
      keepAliveTimeout: times.idle,
    },
  });
  server.maxConnections = mostConnections;
  const listening = await listen(server, { host, port });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    handler.endStreams();
    const timer = startTimer(
      () => 'closeAllConnections' in server && server.closeAllConnections(),
      times.goodbye,
    );
    await closed;
    clearTimeout(timer);
    await handler.close();
  };
  return { port: listening, stop: () => (stopped ??= stop()) };
}
