import { aborted, rest } from '../../../core/rest.ts';
import { Reconnecting } from '../../reconnecting.ts';
import type { Lag, Subscription } from '../../source.ts';
import type { RabbitmqConnection } from '../client/connection.ts';
import { type Link, openLink } from '../client/link.ts';
import { bindAgain, consume, deliveriesLimited, type OpenQueue, openQueue, readyIn } from './open-queue.ts';
import { Prefetch } from './prefetch.ts';
import { QueueFeed } from './queue-feed.ts';
import type { QueueRules } from './queue-rules.ts';

/** How often a single lost queue is retried while the connection is open. */
const lookAgainMs = 2_000;

/** What is held of a queue should go back. */
const overdue = Symbol('overdue');

interface FedQueue extends OpenQueue {
  readonly feed: QueueFeed;
}

/** The rules of queues, with those that only tests change. */
export interface SessionRules extends QueueRules {
  /** How often queues that are declared here are bound again. */
  readonly bindEveryMs: number;
  /** How long a message is held before all that is held of its queue goes back. */
  readonly holdForMs: number;
}

/** Opens one connection after another, until stopped, each with a channel per address. */
export class QueueSession {
  readonly reconnecting: Reconnecting;
  readonly #connection: RabbitmqConnection;
  readonly #rules: SessionRules;
  readonly #subscription: Subscription;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  readonly #queues = new Map<string, FedQueue>();
  /** They outlive connections: what is learned of the size of messages holds for the next one. */
  readonly #prefetches: ReadonlyMap<string, Prefetch>;
  #link: Link | undefined;
  #inHand = 0;

  constructor(connection: RabbitmqConnection, rules: SessionRules, subscription: Subscription) {
    this.#connection = connection;
    this.#rules = rules;
    this.#subscription = subscription;
    const { addresses, batchSize } = subscription;
    this.#prefetches = new Map(addresses.map((address) => [address, new Prefetch(batchSize)]));
    this.reconnecting = new Reconnecting(subscription, this.#stopping.signal);
    this.#ended = this.reconnecting.run(async () => ({ error: await this.#stay() }));
  }

  /**
   * Ready messages, and those delivered to this consumer: the server does not report those delivered to others here.
   */
  async lag(): Promise<readonly Lag[]> {
    const link = this.#link;
    if (link === undefined) throw this.reconnecting.lastError;
    const { addresses, group } = this.#subscription;
    const ready = await Promise.all(
      addresses.map((address) => readyIn(link, this.#rules.name(address, group))),
    );
    return addresses.map((address, n) => ({
      address,
      partition: 0,
      messages: (ready[n] ?? 0) + (this.#queues.get(address)?.feed.unacknowledged ?? 0),
    }));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  /** Resolves with the reason when a connection has ended or could not be used. */
  async #stay(): Promise<unknown> {
    const { addresses, group } = this.#subscription;
    let link: Link | undefined;
    try {
      link = await openLink(this.#connection, `temporal-outbox consumer ${group}`);
      const opened = link;
      const failed = await this.#openAll(opened);
      this.#link = opened;
      this.#tellAssigned();
      this.reconnecting.reached();
      const kept = addresses.map((address) => this.#keep(opened, address, failed.get(address)));
      if (this.#rules.declare) kept.push(this.#keepBound(opened));
      const reason = await Promise.race([opened.ended, aborted(this.#stopping.signal)]);
      await this.#endQueues();
      await opened.end();
      await Promise.all(kept);
      return reason;
    } catch (error) {
      await this.#endQueues();
      await link?.end();
      return error;
    } finally {
      this.#link = undefined;
    }
  }

  /**
   * Declares and binds every queue before it receives from any. The first join needs all of them; later, one that cannot be
   * opened stops no other.
   *
   * @returns the reasons, by address
   */
  async #openAll(link: Link): Promise<ReadonlyMap<string, unknown>> {
    const failed = new Map<string, unknown>();
    const each = async (addresses: Iterable<string>, open: (address: string) => Promise<void>) => {
      for (const address of addresses)
        await open(address).catch((error: unknown) => {
          if (!this.reconnecting.everJoined || link.reason !== undefined) throw error;
          failed.set(address, error);
        });
    };
    const found = new Map<string, OpenQueue>();
    await each(this.#subscription.addresses, async (address) => {
      found.set(address, await this.#find(link, address));
    });
    await each(found.keys(), async (address) => {
      const queue = found.get(address);
      if (queue !== undefined) await this.#receive(link, address, queue);
    });
    return failed;
  }

  /** Receives again from a queue that was deleted, lost or not opened, while the others continue. */
  async #keep(link: Link, address: string, failed: unknown): Promise<void> {
    const { signal } = this.#stopping;
    let reason = failed;
    for (;;) {
      const queue = this.#queues.get(address);
      if (queue !== undefined) {
        const heldTooLong = queue.feed.overdue.then(() => overdue);
        reason = await Promise.race([queue.ended, aborted(signal), heldTooLong]);
      }
      if (link.reason !== undefined || signal.aborted) return;
      if (queue !== undefined && reason === overdue) {
        reason = await this.#again(link, address, queue);
        if (reason === undefined) continue;
      }
      await queue?.feed.lose();
      this.#queues.delete(address);
      await this.#reopen(link, address, reason);
    }
  }

  /**
   * Gives back what is held, all of it together, and receives again. What is in hand is handled and acknowledged before.
   *
   * @returns why that failed; otherwise `undefined`
   */
  async #again(link: Link, address: string, { channel, feed }: FedQueue): Promise<unknown> {
    try {
      await feed.stop();
      await link.ask(() => channel.close());
      this.#queues.delete(address);
      await this.#receive(link, address, await this.#find(link, address));
      return undefined;
    } catch (error) {
      return error ?? new Error('The channel was closed.');
    }
  }

  /** A missing exchange is reported by those who send to it; meanwhile what is in the queue is received. */
  async #keepBound(link: Link): Promise<void> {
    const over = AbortSignal.any([this.#stopping.signal, this.#overOf(link)]);
    const { group } = this.#subscription;
    for (;;) {
      await rest(this.#rules.bindEveryMs, over);
      for (const address of this.#queues.keys()) {
        if (over.aborted) return;
        await bindAgain(link, { address, group, rules: this.#rules }).catch(() => undefined);
      }
      if (over.aborted) return;
    }
  }

  async #reopen(link: Link, address: string, because: unknown): Promise<void> {
    const { signal } = this.#stopping;
    let reason = because;
    while (link.reason === undefined && !signal.aborted) {
      this.#subscription.disconnected(reason, lookAgainMs);
      await rest(lookAgainMs, AbortSignal.any([signal, this.#overOf(link)]));
      if (link.reason !== undefined || signal.aborted) return;
      try {
        await this.#receive(link, address, await this.#find(link, address));
        this.#tellAssigned();
        return;
      } catch (error) {
        reason = error;
      }
    }
  }

  async #find(link: Link, address: string): Promise<OpenQueue> {
    const { group } = this.#subscription;
    const prefetch = this.#prefetchOf(address).count;
    const found = await openQueue(link, { address, group, prefetch, rules: this.#rules });
    if (found.limited)
      this.#subscription.noticed?.({
        type: 'deliveries-limited',
        address,
        error: deliveriesLimited(found.queue),
      });
    return found;
  }

  #prefetchOf(address: string): Prefetch {
    return this.#prefetches.get(address) ?? new Prefetch(this.#subscription.batchSize);
  }

  async #receive(link: Link, address: string, queue: OpenQueue): Promise<void> {
    const feed = new QueueFeed({
      address,
      channel: queue.channel,
      holdForMs: this.#rules.holdForMs,
      order: this.#rules.order,
      prefetch: this.#prefetchOf(address),
      subscription: this.#subscription,
      take: () => {
        if (this.#inHand >= this.#subscription.concurrency) return false;
        this.#inHand += 1;
        return true;
      },
      give: () => {
        this.#inHand -= 1;
        for (const { feed: other } of this.#queues.values()) other.look();
      },
    });
    this.#queues.set(address, { ...queue, feed });
    try {
      await consume(link, queue, (message) => feed.receive(message));
    } catch (error) {
      this.#queues.delete(address);
      throw error;
    }
  }

  /** Waits for the current batches and, if there is still a connection, sends their acknowledgements. */
  async #endQueues(): Promise<void> {
    const queues = [...this.#queues.values()];
    const living = this.#link?.reason === undefined;
    await Promise.all(queues.map(({ feed }) => (living ? feed.stop() : feed.lose())));
    // Before the connection is closed: closing may overtake pending acknowledgements.
    if (living)
      await this.#link
        ?.ask(() => Promise.all(queues.map(({ channel }) => channel.close())))
        .catch(() => undefined);
    this.#queues.clear();
  }

  #tellAssigned(): void {
    const addresses = [...this.#queues.keys()];
    this.#subscription.assigned(addresses.map((address) => ({ address, partition: 0 })));
  }

  #overOf(link: Link): AbortSignal {
    const over = new AbortController();
    void link.ended.then(() => over.abort());
    return over.signal;
  }
}
