import { setTimeout as delay } from 'node:timers/promises';
import { OutboxError } from '../../core/errors.ts';
import type { Subscription } from '../source.ts';
import { askBrokers } from './ask-brokers.ts';
import { Beginnings } from './beginnings.ts';
import { type KafkaConnection, Membership } from './membership.ts';

const reconnectMs = { first: 200, most: 10_000 } as const;
/** How often a topic that is missing is looked for. */
const lookAgainMs = 10_000;

/** Membership after membership, until stopped. */
export class Stay {
  /** Resolves at the first join. */
  readonly joined: Promise<void>;
  readonly #connection: KafkaConnection;
  readonly #subscription: Subscription;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  readonly #beginnings: Beginnings | undefined;
  #membership: Membership | undefined;
  #everJoined = false;
  #lastError: unknown;

  constructor(connection: KafkaConnection, subscription: Subscription) {
    this.#connection = connection;
    this.#subscription = subscription;
    if (!subscription.fromBeginning) this.#beginnings = new Beginnings(connection, subscription);
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
    const { signal } = this.#stopping;
    let retryInMs: number = reconnectMs.first;
    while (!signal.aborted) {
      const addresses = await this.#existing();
      if (signal.aborted) return;
      const membership = new Membership(
        this.#connection,
        { ...this.#subscription, addresses },
        this.#beginnings,
      );
      this.#membership = membership;
      const ended = await this.#stayIn(membership, addresses, () => {
        this.#everJoined = true;
        retryInMs = reconnectMs.first;
        joined();
      });
      await membership.leave();
      if (signal.aborted) return;
      if (ended === 'topic-appeared') continue;
      this.#lastError = ended.error;
      this.#subscription.disconnected(ended.error, retryInMs);
      await delay(retryInMs, undefined, { signal }).catch(() => undefined);
      retryInMs = Math.min(retryInMs * 2, reconnectMs.most);
    }
  }

  /** Resolves when this membership must end, with the reason. */
  async #stayIn(
    membership: Membership,
    addresses: readonly string[],
    joined: () => void,
  ): Promise<{ readonly error: unknown } | 'topic-appeared'> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, over.signal]);
    try {
      await membership.join();
      joined();
      const crashed = membership.crashed.then((error) => ({ error }));
      const stopped = aborted(this.#stopping.signal).then(() => ({ error: undefined }));
      return await Promise.race([crashed, stopped, this.#appearance(addresses, signal)]);
    } catch (error) {
      return { error };
    } finally {
      over.abort();
    }
  }

  /**
   * The addresses to subscribe to: all, without those that were deleted since the first join. kafkajs gives up a whole
   * subscription for the sake of one topic that is missing.
   */
  async #existing(): Promise<readonly string[]> {
    const { addresses } = this.#subscription;
    if (!this.#everJoined) return addresses;
    const known = await this.#topics().catch(() => addresses);
    const missing = addresses.filter((address) => !known.includes(address));
    this.#beginnings?.forget(missing);
    // Without any of them there is nothing to join for: the join fails, and is tried again.
    if (missing.length === 0 || missing.length === addresses.length) return addresses;
    this.#subscription.disconnected(
      new OutboxError(
        'OUTBOX_SERVER_UNAVAILABLE',
        `Kafka no longer has ${missing.join(', ')}: nothing is received from there until it exists again.`,
        { details: { addresses: missing } },
      ),
      lookAgainMs,
    );
    return addresses.filter((address) => known.includes(address));
  }

  /** Resolves when a topic that is left out can be subscribed to; stays open where none is left out. */
  async #appearance(joined: readonly string[], signal: AbortSignal): Promise<'topic-appeared'> {
    const missing = this.#subscription.addresses.filter((address) => !joined.includes(address));
    if (missing.length === 0) return new Promise(() => undefined);
    while (!signal.aborted) {
      await delay(lookAgainMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      const known = await this.#topics().catch((): readonly string[] => []);
      if (missing.some((address) => known.includes(address))) break;
    }
    return 'topic-appeared';
  }

  #topics(): Promise<readonly string[]> {
    return askBrokers(this.#connection, (admin) => admin.listTopics());
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
