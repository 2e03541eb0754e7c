import { OutboxError } from '../../../core/errors.ts';
import { late, orLate } from '../../../core/or-late.ts';
import { reasonOf } from '../../../core/reason.ts';
import { openClient, type RedisClient } from './open-client.ts';
import { redisClient } from './redis-package.ts';
import type { RedisServer } from './redis-server.ts';
import { requireSingleServer } from './single-server.ts';

const connectsWithinMs = 3_000;

/** Nothing was sent, because there is no connection. The cause says why. */
export class NoConnection extends Error {}

/** The reply did not arrive in time: it is unknown whether the server executed the command. */
export class LateReply extends Error {}

/** A client, and the promise of its connection. */
interface Opened {
  readonly client: RedisClient;
  readonly ready: Promise<RedisClient>;
}

interface LinkListener {
  /** Called with each question, and where it is asked. */
  asked?(server: string, answer: Promise<unknown>): void;
}

/**
 * One connection, opened when first needed and reopened after it ended.
 *
 * Nothing is queued without a connection. A late reply closes the connection, and all its pending commands fail.
 */
export class RedisLink {
  readonly #server: RedisServer;
  readonly #answersWithinMs: number;
  readonly #listener: LinkListener;
  #opened: Opened | undefined;
  /** Replaced connections with commands still pending. */
  readonly #leaving = new Set<RedisClient>();
  #closings = 0;

  constructor(server: RedisServer, answersWithinMs: number, listener: LinkListener = {}) {
    this.#server = server;
    this.#answersWithinMs = answersWithinMs;
    this.#listener = listener;
  }

  /**
   * Sends commands and waits for the reply.
   *
   * @param extraMs added to the request timeout
   * @throws {@link NoConnection} when nothing was sent; {@link LateReply}; the server's error reply (`ErrorReply`); after any other error
   * it is unknown whether the server executed the command
   */
  async ask<Answer>(question: (client: RedisClient) => Promise<Answer>, extraMs = 0): Promise<Answer> {
    const answer = this.#ask(question, extraMs);
    // Without valid settings nobody was asked.
    if (this.#opened !== undefined) this.#listener.asked?.(this.#server.endpoint, answer);
    return answer;
  }

  async #ask<Answer>(question: (client: RedisClient) => Promise<Answer>, extraMs: number): Promise<Answer> {
    const opened = (this.#opened ??= this.#open());
    const client = await opened.ready;
    const ms = this.#answersWithinMs + extraMs;
    const answer = await orLate(question(client), ms);
    if (answer !== late) return answer;
    this.#forget(client);
    client.destroy();
    throw new LateReply(`No answer within ${ms} ms.`);
  }

  /** Makes the next call open a new connection; pending calls still get their replies. */
  renew(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    const { client } = opened;
    this.#leaving.add(client);
    const leave = async (): Promise<void> => {
      await opened.ready;
      if ((await orLate(client.close(), this.#answersWithinMs)) === late) client.destroy();
    };
    void leave()
      .catch(() => undefined)
      .finally(() => this.#leaving.delete(client));
  }

  /** How often {@link close} was called: a sequence of calls stops when this changes. */
  get closings(): number {
    return this.#closings;
  }

  /** Closes the connection at once; pending calls fail. A later call opens a new one. */
  close(): void {
    this.#closings += 1;
    const opened = this.#opened;
    this.#opened = undefined;
    // A replaced one that still waits for answers is closing, and counts as closed.
    for (const client of [...this.#leaving, ...(opened === undefined ? [] : [opened.client])])
      client.destroy();
  }

  #open(): Opened {
    let client: RedisClient;
    try {
      client = openClient(this.#server, Math.min(connectsWithinMs, this.#answersWithinMs));
    } catch (error) {
      // The settings are invalid now, but functions may return valid ones the next time.
      throw new NoConnection(reasonOf(error), { cause: error });
    }
    // Pending calls get the error, too; the next call opens a new connection.
    client.on('error', () => {
      this.#forget(client);
      if (client.isOpen) client.destroy();
    });
    const ready = this.#connect(client);
    // Callers await `ready`; `renew` and `close` may come before they do.
    ready.catch(() => this.#forget(client));
    return { client, ready };
  }

  async #connect(client: RedisClient): Promise<RedisClient> {
    const ms = Math.min(connectsWithinMs, this.#answersWithinMs);
    const { ConnectionTimeoutError } = redisClient();
    try {
      const connected = client.connect().then(() => requireSingleServer(client, this.#server.endpoint));
      if ((await orLate(connected, ms)) === late) throw new ConnectionTimeoutError();
      return client;
    } catch (cause) {
      if (client.isOpen) client.destroy();
      if (!(cause instanceof ConnectionTimeoutError)) throw new NoConnection(reasonOf(cause), { cause });
      // A server without TLS waits for more input after the client's handshake.
      const word = client.options.socket?.tls === true ? ' It may not speak TLS.' : '';
      throw new NoConnection(`No connection within ${ms} ms.${word}`);
    }
  }

  #forget(client: RedisClient): void {
    if (this.#opened?.client === client) this.#opened = undefined;
  }
}

/** The refusal of a server that can never be used; `undefined`: another error. */
export function unfitServer(error: unknown): OutboxError | undefined {
  const cause = error instanceof NoConnection ? error.cause : undefined;
  return cause instanceof OutboxError && cause.code === 'OUTBOX_SERVER_UNFIT' ? cause : undefined;
}

/** The error while a server cannot be used. */
export function redisUnavailable({ endpoint }: RedisServer, cause: unknown): OutboxError {
  const unfit = unfitServer(cause);
  if (unfit !== undefined) return unfit;
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `Redis at ${endpoint}: ${reasonOf(cause)}`, {
    cause,
    details: { server: 'Redis', address: endpoint },
  });
}
