import { OutboxError } from '../core/errors.ts';
import { reasonOf } from '../core/reason.ts';
import { openClient, type RedisClient } from './open-client.ts';
import { redisClient } from './redis-package.ts';
import type { RedisServer } from './redis-server.ts';
import { late, within } from './within.ts';

const connectsWithinMs = 3_000;

/** Nothing was sent, because there is no connection. The cause says why. */
export class NoConnection extends Error {}

/** A connection, and whether it can be asked. */
interface Opened {
  readonly client: RedisClient;
  readonly ready: Promise<RedisClient>;
}

/**
 * One connection, made when it is first needed and made anew after it ended.
 *
 * Nothing queues while there is none. An answer that is late costs the connection with all that waits on it, because what
 * it still says would belong to nobody knows what.
 */
export class RedisLink {
  readonly #server: RedisServer;
  readonly #answersWithinMs: number;
  #opened: Opened | undefined;
  /** Connections that others still wait on, though new questions go elsewhere. */
  readonly #leaving = new Set<RedisClient>();
  #closings = 0;

  constructor(server: RedisServer, answersWithinMs: number) {
    this.#server = server;
    this.#answersWithinMs = answersWithinMs;
  }

  /**
   * Asks, and waits for the answer.
   *
   * @param extraMs how much longer than usual the answer may take
   * @throws {@link NoConnection} when nothing was sent; the server's refusal (`ErrorReply`); anything else leaves it open
   * whether the server did what it was asked
   */
  async ask<Answer>(question: (client: RedisClient) => Promise<Answer>, extraMs = 0): Promise<Answer> {
    const opened = (this.#opened ??= this.#open());
    const client = await opened.ready;
    const ms = this.#answersWithinMs + extraMs;
    const answer = await within(question(client), ms);
    if (answer !== late) return answer;
    this.#forget(client);
    client.destroy();
    throw new Error(`No answer within ${ms} ms.`);
  }

  /** Has the next question make a connection of its own; those that wait for an answer still get it. */
  renew(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    if (opened === undefined) return;
    const { client } = opened;
    this.#leaving.add(client);
    const leave = async (): Promise<void> => {
      await opened.ready;
      if ((await within(client.close(), this.#answersWithinMs)) === late) client.destroy();
    };
    void leave()
      .catch(() => undefined)
      .finally(() => this.#leaving.delete(client));
  }

  /** How often it was closed: who goes on over several questions ends with the connection. */
  get closings(): number {
    return this.#closings;
  }

  /** Ends the connection at once. Questions that wait fail. It may be asked again. */
  close(): void {
    this.#closings += 1;
    const opened = this.#opened;
    this.#opened = undefined;
    for (const client of [...this.#leaving, ...(opened === undefined ? [] : [opened.client])])
      if (client.isOpen) client.destroy();
  }

  #open(): Opened {
    let client: RedisClient;
    try {
      client = openClient(this.#server, Math.min(connectsWithinMs, this.#answersWithinMs));
    } catch (error) {
      // What the settings say now is wrong, and may be right the next time.
      throw new NoConnection(reasonOf(error), { cause: error });
    }
    // It is told as well to who waits for an answer; the next question opens another.
    client.on('error', () => {
      this.#forget(client);
      if (client.isOpen) client.destroy();
    });
    const ready = this.#connect(client);
    // It is awaited by who asks; `renew` and `close` may come first.
    ready.catch(() => this.#forget(client));
    return { client, ready };
  }

  async #connect(client: RedisClient): Promise<RedisClient> {
    const ms = Math.min(connectsWithinMs, this.#answersWithinMs);
    const { ConnectionTimeoutError } = redisClient();
    try {
      if ((await within(client.connect(), ms)) === late) throw new ConnectionTimeoutError();
      return client;
    } catch (cause) {
      if (client.isOpen) client.destroy();
      if (!(cause instanceof ConnectionTimeoutError)) throw new NoConnection(reasonOf(cause), { cause });
      // Who does not speak TLS waits for the rest of a command.
      const word = client.options.socket?.tls === true ? ' It may not speak TLS.' : '';
      throw new NoConnection(`No connection within ${ms} ms.${word}`, { cause });
    }
  }

  #forget(client: RedisClient): void {
    if (this.#opened?.client === client) this.#opened = undefined;
  }
}

/** What is thrown, and told, while a server cannot be used. */
export function redisUnavailable({ endpoint }: RedisServer, cause: unknown): OutboxError {
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `Redis at ${endpoint}: ${reasonOf(cause)}`, {
    cause,
    details: { server: endpoint },
  });
}
