import { setTimeout as delay } from 'node:timers/promises';
import { OutboxError } from '../../core/errors.ts';
import type { Source, Subscribed, Subscription } from '../source.ts';
import { type KafkaConnection, Membership } from './membership.ts';

const reconnectMs = { first: 200, most: 10_000 } as const;

/**
 * Receives from Kafka topics as a member of a consumer group.
 *
 * Offsets are committed after the effects, once per fetched batch and at least every second while messages are being
 * handled. Topics are never created: one that is missing makes the first join fail.
 */
export function kafkaSource(connection: KafkaConnection): Source {
  return { name: 'kafka', subscribe: (subscription) => subscribe(connection, subscription) };
}

async function subscribe(connection: KafkaConnection, subscription: Subscription): Promise<Subscribed> {
  const stay = new Stay(connection, subscription);
  const late = new AbortController();
  const inTime = delay(subscription.joinWithinMs, false, { signal: late.signal }).catch(() => false);
  const joined = await Promise.race([stay.joined.then(() => true), inTime]);
  late.abort();
  if (joined) return { stop: () => stay.stop() };
  await stay.stop();
  const reason = stay.lastError instanceof Error ? stay.lastError.message : 'no answer';
  throw new OutboxError(
    'OUTBOX_SERVER_UNAVAILABLE',
    `The group "${subscription.group}" could not be joined at ${connection.brokers.join(', ')}: ${reason}.`,
    { cause: stay.lastError, details: { group: subscription.group, addresses: subscription.addresses } },
  );
}

/** Membership after membership, until stopped. */
class Stay {
  /** Resolves at the first join. */
  readonly joined: Promise<void>;
  readonly #connection: KafkaConnection;
  readonly #subscription: Subscription;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  #membership: Membership | undefined;
  #lastError: unknown;

  constructor(connection: KafkaConnection, subscription: Subscription) {
    this.#connection = connection;
    this.#subscription = subscription;
    let ended: Promise<void> = Promise.resolve();
    this.joined = new Promise((resolve) => {
      ended = this.#run(resolve);
    });
    this.#ended = ended;
  }

  /** Why the last membership ended. */
  get lastError(): unknown {
    return this.#lastError;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#membership?.leave();
    await this.#ended;
  }

  async #run(joined: () => void): Promise<void> {
    let retryInMs: number = reconnectMs.first;
    while (!this.#stopping.signal.aborted) {
      const membership = new Membership(this.#connection, this.#subscription);
      this.#membership = membership;
      try {
        await membership.join();
        joined();
        retryInMs = reconnectMs.first;
        this.#lastError = await Promise.race([membership.crashed, aborted(this.#stopping.signal)]);
      } catch (error) {
        this.#lastError = error;
      }
      await membership.leave();
      if (this.#stopping.signal.aborted) return;
      this.#subscription.disconnected(this.#lastError, retryInMs);
      await delay(retryInMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      retryInMs = Math.min(retryInMs * 2, reconnectMs.most);
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
