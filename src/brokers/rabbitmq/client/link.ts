import type { ChannelModel } from 'amqplib';
import { late, orLate } from '../../../core/or-late.ts';
import { startTimer } from '../../../core/timer.ts';
import { amqplib } from './amqplib.ts';
import type { RabbitmqConnection, RabbitmqServer } from './connection.ts';
import { connectReason } from './reason.ts';

const connectWithinMs = 3_000;
/** How long an orderly close may take before the socket is destroyed. */
const goodbyeMs = 1_000;

/** One connection, from its opening to its end; it is never reopened. */
export class Link {
  readonly model: ChannelModel;
  /** Resolves with the reason when the connection has ended, however it ended. */
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
    // This error says more than the one of the close event.
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

  /** Why it has ended or is ending; `undefined` while it is open. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Name and version of the server, as it introduced itself. */
  get server(): string {
    const { product, version } = this.model.connection.serverProperties;
    return `${product} ${version}`;
  }

  /**
   * Why the server accepts no messages for now (`connection.blocked`); otherwise `undefined`. A server reports it only after
   * a message was sent.
   */
  get blocked(): string | undefined {
    return this.#blocked;
  }

  /** Registers the callback for when the server stops accepting messages. */
  whenBlocked(tell: (reason: string) => void): void {
    this.#onBlocked = tell;
  }

  /**
   * Sends a request and waits for the answer. Without one in time it cuts the connection, unless the server blocks it: a
   * server does not read from a blocked connection.
   */
  async ask<Answer>(question: (model: ChannelModel) => Promise<Answer>): Promise<Answer> {
    try {
      // If the connection has ended, amqplib may throw synchronously, or with a less specific error.
      const answer = await orLate(question(this.model), this.#withinMs);
      if (answer !== late) return answer;
      const blocked = this.#blocked;
      const error = new Error(
        blocked === undefined ? silence(this.#withinMs) : `The server blocks its publishers: ${blocked}.`,
      );
      if (blocked === undefined) this.cut(error);
      throw error;
    } catch (error) {
      throw this.#reason ?? error;
    }
  }

  /** Destroys the connection at once. */
  cut(reason: unknown): void {
    this.#reason ??= reason;
    this.#socket.abort(reason);
  }

  /** Closes the connection in an orderly way, or destroys it if that takes too long. */
  async end(): Promise<void> {
    // It throws if the connection has already ended, and never settles if it ends without an answer.
    await orLate(Promise.race([this.model.close().catch(() => undefined), this.ended]), goodbyeMs);
    this.cut(new Error('The connection was closed.'));
  }
}

/** The reason for display if a server does not answer. */
export function silence(withinMs: number): string {
  return `The server gave no answer within ${withinMs} ms.`;
}

/**
 * Connects to the first server that answers.
 *
 * @param name the name of the connection that the server shows
 * @throws Error with the reason of each server, without credentials
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
  { heartbeatSeconds, tls, requestTimeoutMs }: RabbitmqConnection,
  { host, password, port, secure, user, vhost }: RabbitmqServer,
  name: string,
): Promise<Link> {
  const withinMs = Math.min(connectWithinMs, requestTimeoutMs);
  const socket = new AbortController();
  const tooLate = new Error(silence(withinMs));
  const timer = startTimer(() => socket.abort(tooLate), withinMs);
  const server = { hostname: host, port, username: user, password, vhost, heartbeat: heartbeatSeconds };
  // The types omit `signal`, which is the only way to end a socket that does not answer.
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
    throw socket.signal.aborted ? tooLate : error;
  } finally {
    clearTimeout(timer);
  }
}
