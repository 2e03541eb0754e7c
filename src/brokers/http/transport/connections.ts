import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Agent } from 'undici';
import { type HttpExchange, type HttpPost, post } from './exchange.ts';
import type { HttpSettings } from './http-options.ts';
import type { HttpTarget } from './http-target.ts';
import { undici } from './undici.ts';

/** Time to establish a connection, including TLS. */
const connectTimeoutMs = 3_000;
/** Limit for response headers. */
const maxHeaderBytes = 16 * 1_024;

/** The connections of one transport: a pool per server, created on first use. */
export class HttpConnections {
  readonly #settings: HttpSettings;
  #pools: Agent | undefined;

  constructor(settings: HttpSettings) {
    this.#settings = settings;
  }

  /** Returns a function that posts over the current pools; after {@link HttpConnections.close} it sends nothing more. */
  open(): (target: HttpTarget, request: Pick<HttpPost, 'headers' | 'body'>) => Promise<HttpExchange> {
    const { guard, requestTimeoutMs, tls } = this.#settings;
    const { Agent: Pools } = undici();
    const pools = (this.#pools ??= new Pools({
      // The timeout covers the whole request, so that a response sent in pieces cannot extend it.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: maxHeaderBytes,
      connect: { ...tls, lookup: guard.lookup, timeout: connectTimeoutMs },
    }));
    return async ({ url, host, path }, request) => {
      try {
        guard.check(host);
      } catch (error) {
        if (error instanceof Error) return { kind: 'failed', written: false, error };
        throw error;
      }
      return post(pools, { origin: url.origin, path, ...request }, requestTimeoutMs);
    };
  }

  /** Connects and disconnects without a request, because a request would be a message. */
  async probe({ url, host }: HttpTarget): Promise<void> {
    const { guard, tls } = this.#settings;
    guard.check(host);
    const connect = undici().buildConnector({ ...tls, lookup: guard.lookup, timeout: connectTimeoutMs });
    const { hostname, protocol, port } = url;
    const socket = await new Promise<Socket>((resolve, reject) => {
      connect({ hostname: host, host: hostname, protocol, port }, (...[error, opened]) => {
        if (error === null) resolve(opened);
        else reject(error);
      });
    });
    socket.destroy();
    await once(socket, 'close');
  }

  /** Waits for the requests in flight, then closes all connections. */
  async close(): Promise<void> {
    const pools = this.#pools;
    this.#pools = undefined;
    await pools?.close();
  }
}
