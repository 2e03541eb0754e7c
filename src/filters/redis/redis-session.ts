import type * as Redis from '@redis/client';
import { requirePackages } from '../../core/packages.ts';
import type { RedisFilterRules } from './redis-filter-options.ts';

/** A connection, as the client makes it. */
export type RedisClient = ReturnType<typeof open>;

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
    const client = open(this.#rules);
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

/**
 * The client of Redis, loaded when it is first needed.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function redisClient(): typeof Redis {
  requirePackages('redis');
  // oxlint-disable-next-line typescript/no-require-imports, typescript/no-unsafe-type-assertion -- an import would load it with this file, or only later
  return require('@redis/client') as typeof Redis;
}

/** A client that gives up at once: when to try again is decided above. It keeps no process alive. */
function open({ url, client }: RedisFilterRules) {
  const opened = redisClient().createClient({
    // Push messages of the server and its knowledge of the library are of no use here, and cost round trips.
    maintNotifications: 'disabled',
    disableClientInfo: true,
    ...client,
    url,
    disableOfflineQueue: true,
    socket: { ...client.socket, reconnectStrategy: false, connectTimeout: connectsWithinMs },
  });
  opened.unref();
  return opened;
}

const late = Symbol('late');

/** The result, or {@link late}. What arrived while this process was too busy to look is in time. */
function within<T>(result: Promise<T>, ms: number): Promise<T | typeof late> {
  return new Promise((resolve, reject) => {
    // The event loop reads sockets after its timers and before this.
    const timer = setTimeout(() => setImmediate(() => resolve(late)), ms);
    result.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
