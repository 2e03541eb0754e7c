import type { Producer } from 'kafkajs';
import type { Sockets } from './metadata-tolerance.ts';

/** A connected producer and the calls that use it now. It disconnects when it is retired and the last one is done. */
export class ProducerSession {
  readonly producer: Producer;
  /** Settles when everything is disconnected; never rejects. */
  readonly ended: Promise<void>;
  readonly #sockets: Sockets;
  readonly #connected: Promise<void>;
  readonly #end: () => void;
  #users = 0;
  #retired = false;
  #ending = false;

  constructor(producer: Producer, sockets: Sockets, connect: () => Promise<void>) {
    this.producer = producer;
    this.#sockets = sockets;
    this.#connected = connect();
    const { promise, resolve } = withResolvers();
    this.ended = promise;
    this.#end = resolve;
  }

  get retired(): boolean {
    return this.#retired;
  }

  get unused(): boolean {
    return this.#users === 0;
  }

  /** How many connections are open now. */
  get openConnections(): number {
    return this.#sockets.openCount();
  }

  /** Runs `work` once connected. Throws when no broker can be reached; the session is retired then. */
  async run<T>(work: (session: ProducerSession) => Promise<T>): Promise<T> {
    this.#users += 1;
    try {
      await this.#connected.catch((error: unknown) => {
        this.retire();
        throw error;
      });
      return await work(this);
    } finally {
      this.#users -= 1;
      this.#endWhenUnused();
    }
  }

  /** Takes no further calls from the client; those that run are let go on. */
  retire(): void {
    this.#retired = true;
    this.#endWhenUnused();
  }

  #endWhenUnused(): void {
    if (!this.#retired || this.#users > 0 || this.#ending) return;
    this.#ending = true;
    void disconnect(this.producer, this.#sockets).then(this.#end);
  }
}

/** Disconnects a client of kafkajs. Connections that it cannot close in an orderly way are cut. */
export async function disconnect(client: { disconnect(): Promise<void> }, sockets: Sockets): Promise<void> {
  try {
    await client.disconnect();
  } catch {
    // Nothing depends on a polite end.
  } finally {
    sockets.destroy();
  }
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
