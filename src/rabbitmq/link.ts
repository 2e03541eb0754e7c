import type { ChannelModel } from 'amqplib';
import { amqplib } from './amqplib.ts';
import { heartbeatSeconds, type RabbitmqConnection, type RabbitmqServer } from './connection.ts';
import { connectReason } from './reason.ts';

const connectWithinMs = 3_000;
/** How long an orderly close may take before the connection is cut. */
const goodbyeMs = 1_000;

/** One connection, from its opening to its end; it is never opened again. */
export class Link {
  readonly model: ChannelModel;
  /** Resolves with the reason when the connection has ended, in whatever way. */
  readonly ended: Promise<unknown>;
  readonly #socket: AbortController;
  readonly #withinMs: number;
  #reason: unknown;
  #blocked: string | undefined;
  #onBlocked: ((reason: string) => void) | undefined;

  constructor(model: ChannelModel, socket: AbortController, withinMs: number) {
    this.model = model;
    this.#socket = socket;
    this.#withinMs = withinMs;
    // What is told here and not at the end tells more.
    model.on('error', (error) => {
      this.#reason ??= error;
    });
    model.on('blocked', (reason) => {
      this.#blocked = reason;
      this.#onBlocked?.(reason);
    });
    model.on('unblocked', () => {
      this.#blocked = undefined;
    });
    this.ended = new Promise((resolve) => {
      model.on('close', (error) => {
        this.#reason ??= error ?? new Error('The connection was closed.');
        resolve(this.#reason);
      });
    });
  }

  /** Why it has ended, or ends; `undefined` while it lives. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Why the server takes no messages for now; `undefined` while it does. It tells at the first message, not before. */
  get blocked(): string | undefined {
    return this.#blocked;
  }

  /** Calls this whenever the server ceases to take messages. */
  whenBlocked(tell: (reason: string) => void): void {
    this.#onBlocked = tell;
  }

  /**
   * Asks the server something. A connection on which no answer comes in time is cut, unless the server has said why: one
   * that is blocked is not read.
   */
  async ask<Answer>(question: (model: ChannelModel) => Promise<Answer>): Promise<Answer> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const blocked = this.#blocked;
        const error = new Error(
          blocked === undefined ? silence(this.#withinMs) : `The server blocks its publishers: ${blocked}.`,
        );
        if (blocked === undefined) this.cut(error);
        reject(error);
      }, this.#withinMs);
    });
    try {
      // Where the connection has ended amqplib may throw at once, or leave its own words.
      return await Promise.race([question(this.model), late]);
    } catch (error) {
      throw this.#reason ?? error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the connection at once. */
  cut(reason: unknown): void {
    this.#reason ??= reason;
    this.#socket.abort(reason);
  }

  /** Ends the connection with a goodbye, if the server takes it. */
  async end(): Promise<void> {
    const timer = setTimeout(() => this.cut(new Error('The connection was closed.')), goodbyeMs);
    // It throws where the connection has ended by itself.
    await this.model.close().catch(() => undefined);
    clearTimeout(timer);
    this.cut(new Error('The connection was closed.'));
  }
}

/** For people: what a server that does not answer has done. */
export function silence(withinMs: number): string {
  return `The server gave no answer within ${withinMs} ms.`;
}

/**
 * Connects to the first server that answers.
 *
 * @param name what the server shows of this connection
 * @throws Error with what each server answered, without credentials
 */
export async function openLink(connection: RabbitmqConnection, name: string): Promise<Link> {
  const reasons: string[] = [];
  for (const server of connection.servers) {
    try {
      return await openOne(connection, server, name);
    } catch (error) {
      reasons.push(connectReason(`${server.host}:${server.port}`, error));
    }
  }
  throw new Error(reasons.join('; '));
}

async function openOne(
  { tls, requestTimeoutMs }: RabbitmqConnection,
  { host, password, port, secure, user, vhost }: RabbitmqServer,
  name: string,
): Promise<Link> {
  const withinMs = Math.min(connectWithinMs, requestTimeoutMs);
  const socket = new AbortController();
  const late = new Error(silence(withinMs));
  const timer = setTimeout(() => socket.abort(late), withinMs);
  const server = { hostname: host, port, username: user, password, vhost, heartbeat: heartbeatSeconds };
  // The types leave out that a socket can be given a signal, which is the one way to end a silent one.
  const how = {
    ...(secure && tls),
    signal: socket.signal,
    noDelay: true,
    clientProperties: { connection_name: name },
  };
  try {
    const model = await amqplib().connect({ ...server, protocol: secure ? 'amqps' : 'amqp' }, how);
    return new Link(model, socket, requestTimeoutMs);
  } catch (error) {
    throw socket.signal.aborted ? late : error;
  } finally {
    clearTimeout(timer);
  }
}
