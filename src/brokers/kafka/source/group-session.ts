import { OutboxError } from '../../../core/errors.ts';
import { aborted, rest } from '../../../core/rest.ts';
import { Reconnecting } from '../../reconnecting.ts';
import type { Subscription } from '../../source.ts';
import type { KafkaConnection } from '../client/connection.ts';
import { largestBatchBytes } from '../client/largest-batch.ts';
import { missingTopics } from '../client/topics.ts';
import { missing } from '../client/unavailable.ts';
import { Membership } from './membership.ts';
import { StartOffsets } from './start-offsets.ts';

/** Intervals of the source, in milliseconds. Only tests shorten them. */
export interface SourcePaces {
  /** How often a missing topic is looked up. */
  readonly lookAgainMs: number;
}

export const sourcePaces: SourcePaces = { lookAgainMs: 10_000 };

/** Joins the group with one membership after another, until stopped. */
export class GroupSession {
  readonly reconnecting: Reconnecting;
  readonly #connection: KafkaConnection;
  readonly #subscription: Subscription;
  readonly #paces: SourcePaces;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  readonly #startOffsets: StartOffsets;
  #membership: Membership | undefined;

  constructor(connection: KafkaConnection, subscription: Subscription, paces: SourcePaces) {
    this.#connection = connection;
    this.#subscription = subscription;
    this.#paces = paces;
    this.#startOffsets = new StartOffsets(connection, subscription);
    this.reconnecting = new Reconnecting(subscription, this.#stopping.signal);
    this.#ended = this.reconnecting.run(() => this.#stay());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#membership?.leave();
    await this.#ended;
  }

  /** One membership, of the addresses that exist; a topic that appears is joined at once. */
  async #stay(): Promise<{ readonly error: unknown } | undefined> {
    const { signal } = this.#stopping;
    const addresses = await this.#existing();
    if (signal.aborted) return undefined;
    if (addresses instanceof OutboxError) return { error: addresses };
    const partitionBytes = await this.#partitionBytes(addresses);
    // A stop meanwhile has found no membership to leave.
    if (signal.aborted) return undefined;
    const membership = new Membership(
      this.#connection,
      { ...this.#subscription, addresses },
      this.#startOffsets,
      partitionBytes,
    );
    this.#membership = membership;
    const ended = await this.#stayIn(membership, addresses);
    await membership.leave();
    return ended === 'topic-appeared' ? undefined : ended;
  }

  /**
   * How much of one partition an answer may have: by default as much as one batch may. Of a larger one a broker sends only the
   * first in an answer, and kafkajs asks for partitions in the same order each time: those behind would be handled after all
   * that the first one has.
   */
  async #partitionBytes(addresses: readonly string[]): Promise<number> {
    const { maxFetchBytes, maxPartitionBytes } = this.#connection.consumption;
    if (maxPartitionBytes !== undefined) return maxPartitionBytes;
    return Math.min(await largestBatchBytes(this.#connection, addresses), maxFetchBytes);
  }

  /** Resolves with the reason when this membership must end. */
  async #stayIn(
    membership: Membership,
    addresses: readonly string[],
  ): Promise<{ readonly error: unknown } | 'topic-appeared'> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, over.signal]);
    try {
      await membership.join();
      this.reconnecting.reached();
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
   * The addresses to subscribe to: all except those deleted since the first join. kafkajs fails the whole subscription
   * when one topic is missing, and does not name the topic.
   *
   * @returns an error if there is nothing to join; before the first join every address has to exist
   */
  async #existing(): Promise<readonly string[] | OutboxError> {
    const { addresses } = this.#subscription;
    const found = missingTopics(this.#connection, addresses);
    this.#subscription.asked?.(this.#connection.servers.join(','), found);
    const gone = await found.catch((): readonly string[] => []);
    if (gone.length === 0) {
      this.#subscription.incomplete?.(undefined);
      return addresses;
    }
    const error = missing(this.#connection, gone);
    if (!this.reconnecting.everJoined) return error;
    this.#startOffsets.forget(gone);
    if (gone.length === addresses.length) return error;
    this.#subscription.disconnected(error, this.#paces.lookAgainMs);
    this.#subscription.incomplete?.(error);
    return addresses.filter((address) => !gone.includes(address));
  }

  /** Resolves when a topic that was left out exists; never resolves if none was left out. */
  async #appearance(joined: readonly string[], signal: AbortSignal): Promise<'topic-appeared'> {
    const left = this.#subscription.addresses.filter((address) => !joined.includes(address));
    if (left.length === 0) return new Promise(() => undefined);
    while (!signal.aborted) {
      await rest(this.#paces.lookAgainMs, signal);
      if (signal.aborted) break;
      const gone = await missingTopics(this.#connection, left).catch(() => left);
      if (gone.length < left.length) break;
    }
    return 'topic-appeared';
  }
}
