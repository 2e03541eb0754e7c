import { openClient, type RedisClient } from '../../redis/open-client.ts';
import { late, within } from '../../redis/within.ts';
import type { RedisFilterRules } from './redis-filter-options.ts';

/** One connection, and what became of it. */
interface Link {
  readonly client: RedisClient;
  readonly ready: Promise<RedisClient>;
  isReady: boolean;
  failed: boolean;
}

const connectsWithinMs = 2_000;
const firstRestMs = 1_000;
const longestRestMs = 30_000;

/** How long Redis is left alone after so many failures in a row, the latest included. */
export function restMs(failures: number): number {
  return Math.min(firstRestMs * 2 ** (failures - 1), longestRestMs);
}

/**
 * Asks Redis with patience for one answer at a time, and leaves it alone after a failure.
 *
 * Nothing queues: while there is no connection nothing is asked, and an answer that is late costs the connection, with
 * all that waits on it.
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
   * The answer, or `undefined` where there was none in time. Never rejects.
   *
   * The first question opens the connection; while that takes longer than an answer may, it goes on in the background.
   */
  async ask<Answer>(question: (redis: RedisClient) => Promise<Answer>): Promise<Answer | undefined> {
    if (this.#closed || performance.now() < this.#restUntilMs) return undefined;
    let link: Link | undefined;
    try {
      link = this.#link ??= this.#connect();
      const answer = await within(link.ready.then(question), this.#rules.answerWithinMs);
      if (answer !== late) {
        this.#answered();
        return answer;
      }
      if (link.isReady) this.#failed(link, new Error(`No answer within ${this.#rules.answerWithinMs} ms.`));
    } catch (error) {
      this.#failed(link, error);
    }
    return undefined;
  }

  /** Ends the connection; nothing is asked any more. Safe to repeat. */
  close(): void {
    this.#closed = true;
    const link = this.#link;
    this.#link = undefined;
    link?.client.destroy();
  }

  #connect(): Link {
    const client = openClient(this.#rules.server, connectsWithinMs);
    // It keeps no process alive.
    client.unref();
    const connected = within(client.connect(), connectsWithinMs).then((result) => {
      if (result === late) throw new Error(`No connection within ${connectsWithinMs} ms.`);
      link.isReady = true;
      return client;
    });
    const link: Link = { client, ready: connected, isReady: false, failed: false };
    connected.catch((error: unknown) => this.#failed(link, error));
    // A connection that ends while nobody asks is no failure yet: the next question opens another.
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

  /** Once per connection, however many questions wait on it. */
  #failed(link: Link | undefined, error: unknown): void {
    if (link?.failed || this.#closed) return;
    if (link !== undefined) {
      link.failed = true;
      link.client.destroy();
      if (this.#link === link) this.#link = undefined;
    }
    this.#failures += 1;
    const retryInMs = restMs(this.#failures);
    this.#restUntilMs = performance.now() + retryInMs;
    if (this.#awaySinceMs !== undefined) return;
    this.#awaySinceMs = performance.now();
    this.#rules.report({ type: 'redis-away', error, retryInMs });
  }
}
