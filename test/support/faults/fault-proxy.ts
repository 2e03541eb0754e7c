import { createServer, type Server } from 'node:net';
import { seededRandom } from '../fixtures/random.ts';
import { FaultLink } from './fault-proxy-link.ts';

/**
 * A fault between a client and a server.
 *
 * - `delay`: every chunk of both directions is delayed, in order.
 * - `throttle`: each connection passes no more bytes per second in each direction, like a narrow network.
 * - `blackhole`: chunks of both directions are dropped; connections stay open, and new ones are accepted.
 * - `strand`: for connections that are open now, as if the other side had vanished without a FIN; new ones work.
 * - `drop-replies`: what the server sends is dropped; what the client sends passes.
 * - `reset`: open connections are reset now, and new ones as soon as they are accepted.
 * - `cut`: a connection is reset once this many bytes of one direction have passed since the fault was injected.
 * - `lose-reply`: a request that contains the text reaches the server, its reply is lost, the connection is reset.
 * - `lose-request`: the connection is reset instead of forwarding the request, which never reaches the server.
 */
export type Fault =
  | { readonly kind: 'delay'; readonly ms: number; readonly jitterMs?: number }
  | { readonly kind: 'throttle'; readonly bytesPerSecond: number }
  | { readonly kind: 'blackhole' | 'drop-replies' | 'reset' | 'strand' }
  | { readonly kind: 'cut'; readonly of: 'requests' | 'replies'; readonly afterBytes: number }
  | LoseReply
  | LoseRequest;

/** Which requests are affected. */
interface Chosen {
  /** Bytes of the request, as latin1 text. They may span several chunks. */
  readonly to: string;
  /** @defaultValue every time */
  readonly times?: number;
  /** 0 to 1, decided by the seed. @defaultValue 1 */
  readonly chance?: number;
}

export interface LoseReply extends Chosen {
  readonly kind: 'lose-reply';
  /**
   * From the first dropped chunk to the reset, in milliseconds: all chunks in between are dropped, too. @defaultValue 0
   */
  readonly silentMs?: number;
}

export interface LoseRequest extends Chosen {
  readonly kind: 'lose-request';
}

export type FaultKind = Fault['kind'];

/** A TCP proxy in front of one server, which can inject faults while it runs. */
export interface FaultProxy {
  readonly port: number;
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Replaces the current fault, for open and new connections. */
  inject(fault: Fault): void;
  /**
   * Ends the fault. Connections that have lost bytes are reset: TCP would have retransmitted the bytes, and without
   * them the stream is corrupt.
   */
  heal(): void;
  /** Resets open connections, and connects new ones to this server, like a failover of an address. */
  redirect(target: string): void;
  /** How often a fault of this kind was applied: chunks delayed or dropped, connections reset. */
  fired(kind: FaultKind): number;
  /** Number of open connections. */
  connections(): number;
  /** Resets open connections and stops listening. */
  close(): Promise<void>;
}

/** What the proxy shares with its connections. */
export interface FaultState {
  fault: Fault | undefined;
  /** Number of requests that the current fault has affected. */
  chosen: number;
  target: { readonly host: string; readonly port: number };
  /** 0 to 1, exclusive. */
  chance(): number;
  fire(kind: FaultKind): void;
}

/**
 * Starts a proxy on a free port of this machine.
 *
 * While the server is down, a connection is accepted and reset, whereas the server itself would refuse it.
 *
 * @param target `host:port` of the server
 * @param seed decides jitter and chances
 */
export async function startFaultProxy(target: string, seed = 1): Promise<FaultProxy> {
  const random = seededRandom(seed);
  const fired = new Map<FaultKind, number>();
  const state: FaultState = {
    fault: undefined,
    chosen: 0,
    target: hostAndPort(target),
    chance: () => random.next(),
    fire: (kind) => void fired.set(kind, (fired.get(kind) ?? 0) + 1),
  };
  const links = new Set<FaultLink>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const link = new FaultLink(state, client);
    links.add(link);
    void link.closed.then(() => links.delete(link));
  });
  const own = await listen(server);
  const change = (fault: Fault | undefined): void => {
    state.fault = fault;
    state.chosen = 0;
    for (const link of links) link.faultChanged();
  };
  return {
    port: own,
    address: `127.0.0.1:${own}`,
    inject: change,
    heal: () => change(undefined),
    redirect: (to) => {
      state.target = hostAndPort(to);
      for (const link of links) link.reset();
    },
    fired: (kind) => fired.get(kind) ?? 0,
    connections: () => links.size,
    async close() {
      for (const link of links) link.reset();
      await new Promise((done) => server.close(done));
    },
  };
}

function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const { hostname: host, port } = new URL(`tcp://${address}`);
  return { host, port: Number(port) };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('The proxy has no port.'));
      else resolve(address.port);
    });
  });
}
