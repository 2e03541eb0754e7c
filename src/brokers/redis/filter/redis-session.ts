import { late, orLate } from '../../../core/or-late.ts';
import { pauseAfter } from '../../../core/pause-after.ts';
import { openClient, type RedisClient } from '../client/open-client.ts';
import type { RedisFilterRules } from './redis-filter-options.ts';

/** One connection and its state. */
interface Link {
  readonly client: RedisClient;
  readonly ready: Promise<RedisClient>;
  isReady: boolean;
  failed: boolean;
}

const connectsWithinMs = 2_000;
const restMs = { first: 1_000, most: 30_000 } as const;

/**
 * Sends requests to Redis with a timeout, and pauses after a failure.
 *
 * Requests do not pile up: a late answer closes an open connection, which fails all pending requests.
 */
export class RedisSession {
  readonly #rules: RedisFilterRules;
  #link: Link | undefined;
  #closed = false;
  #failures = 0;
  #restUntilMs = 0;
  #awaySinceMs: number | undefined;

  constructor(rules: RedisFilterRules) {
    this.#rules = rules;
  }

  /**
   * The answer, or `undefined` if there was none in time. Never rejects.
   *
   * The first request opens the connection. If that takes longer than an answer may, it continues in the background.
   */
  async ask<Answer>(question: (redis: RedisClient) => Promise<Answer>): Promise<Answer | undefined> {
    if (this.#closed || performance.now() < this.#restUntilMs) return undefined;
    let link: Link | undefined;
    try {
      link = this.#link ??= this.#connect();
      const answer = await orLate(link.ready.then(question), this.#rules.requestTimeoutMs);
      if (answer !== late) {
        this.#answered();
        return answer;
      }
      if (link.isReady) this.#failed(link, new Error(`No answer within ${this.#rules.requestTimeoutMs} ms.`));
    } catch (error) {
      this.#failed(link, error);
    }
    return undefined;
  }

  /** Closes the connection; later requests get no answer. Safe to repeat. */
  close(): void {
    this.#closed = true;
    const link = this.#link;
    this.#link = undefined;
    link?.client.destroy();
  }

  #connect(): Link {
    const client = openClient(this.#rules.server, connectsWithinMs);
    // The connection must not keep the process alive.
    client.unref();
    const connected = orLate(client.connect(), connectsWithinMs).then((result) => {
      if (result === late) throw new Error(`No connection within ${connectsWithinMs} ms.`);
      link.isReady = true;
      return client;
    });
    const link: Link = { client, ready: connected, isReady: false, failed: false };
    connected.catch((error: unknown) => this.#failed(link, error));
    // A connection lost while idle is not yet a failure: the next request opens another.
    client.on('error', () => {
      if (!link.isReady) return;
      if (this.#link === link) this.#link = undefined;
      client.destroy();
    });
    return link;
  }

  #answered(): void {
    this.#failures = 0;
    if (this.#awaySinceMs === undefined) return;
    const awayMs = Math.round(performance.now() - this.#awaySinceMs);
    this.#awaySinceMs = undefined;
    this.#rules.report({ type: 'redis-back', awayMs });
  }

  /** Counts once per connection, however many requests are pending. */
  #failed(link: Link | undefined, error: unknown): void {
    if (link?.failed || this.#closed) return;
    if (link !== undefined) {
      link.failed = true;
      link.client.destroy();
      if (this.#link === link) this.#link = undefined;
    }
    this.#failures += 1;
    const retryInMs = pauseAfter(this.#failures, restMs);
    this.#restUntilMs = performance.now() + retryInMs;
    if (this.#awaySinceMs !== undefined) return;
    this.#awaySinceMs = performance.now();
    this.#rules.report({ type: 'redis-away', error, retryInMs });
  }
}
