import { createServer, type Server } from 'node:net';
import { seededRandom } from '../fixtures/random.ts';
import { FaultLink } from './fault-proxy-link.ts';

/**
 * What goes wrong between a client and a server.
 *
 * - `delay`: every piece of both directions comes late, in its order.
 * - `blackhole`: pieces of both directions vanish; connections stay open, and new ones are accepted.
 * - `strand`: connections that are open now go on as if the other side had vanished without a word; new ones work.
 * - `drop-replies`: what the server says vanishes; it gets everything.
 * - `reset`: open connections are reset now, and new ones as soon as they are made.
 * - `cut`: a connection is reset once so many bytes of one direction have passed since the fault was injected.
 * - `lose-reply`: a request that contains the text reaches the server, the reply vanishes, and the connection is reset.
 * - `lose-request`: the connection is reset in place of the request, which never reaches the server.
 */
export type Fault =
  | { readonly kind: 'delay'; readonly ms: number; readonly jitterMs?: number }
  | { readonly kind: 'blackhole' | 'drop-replies' | 'reset' | 'strand' }
  | { readonly kind: 'cut'; readonly of: 'requests' | 'replies'; readonly afterBytes: number }
  | LoseReply
  | LoseRequest;

/** Which requests are met. */
interface Chosen {
  /** Bytes of the request, as latin1 text. They may be spread over several pieces. */
  readonly to: string;
  /** @defaultValue every time */
  readonly times?: number;
  /** 0 to 1, decided by the seed. @defaultValue 1 */
  readonly chance?: number;
}

export interface LoseReply extends Chosen {
  readonly kind: 'lose-reply';
  /** From the first lost piece to the reset, in milliseconds: what else is said meanwhile is lost too. @defaultValue 0 */
  readonly silentMs?: number;
}

export interface LoseRequest extends Chosen {
  readonly kind: 'lose-request';
}

export type FaultKind = Fault['kind'];

/** A TCP proxy in front of one server that can be made to fail while it runs. */
export interface FaultProxy {
  readonly port: number;
  /** `127.0.0.1:port` */
  readonly address: string;
  /** What happens from now on, to open and new connections, in place of the fault before. */
  inject(fault: Fault): void;
  /**
   * Everything passes from now on. Connections that have lost bytes are reset: on a real wire they would have been sent
   * again, and without them the stream means something else.
   */
  heal(): void;
  /** Open connections are reset, and new ones go to this server: what a failover does to an address. */
  redirect(target: string): void;
  /** How often a fault of this kind was done to somebody: pieces delayed or lost, connections reset. */
  fired(kind: FaultKind): number;
  /** How many connections are open. */
  connections(): number;
  /** Resets what is open and listens no more. */
  close(): Promise<void>;
}

/** What the proxy shares with its connections. */
export interface FaultState {
  fault: Fault | undefined;
  /** Requests that the fault of now has chosen. */
  chosen: number;
  target: { readonly host: string; readonly port: number };
  /** 0 to 1, exclusive. */
  chance(): number;
  fire(kind: FaultKind): void;
}

/**
 * Starts a proxy on a free port of this machine.
 *
 * While the server is down, a connection is accepted and reset, where the server itself would refuse it.
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
