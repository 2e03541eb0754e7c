import { askBrokers } from '../../kafka/ask-brokers.ts';
import type { KafkaConnection } from '../../kafka/connection.ts';
import type { Partition, Subscription } from '../source.ts';

/** A place of a log, in the words of kafkajs. */
export interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
}

/** What Kafka answers where nothing is committed. kafkajs commits other negative ones, to begin with the oldest message. */
const noOffset = '-1';

/**
 * Where a group begins that wants only what arrives from now on.
 *
 * Kafka knows "now" only as the moment of a fetch, again and again until something is committed: what arrives before
 * the first commit would be lost by a crash, or at once. So the ends of the logs are looked up before the first join,
 * and committed for the partitions for which the group has no offset.
 *
 * A start is used up by the group's first offset. Kafka drops the offsets of a topic that is deleted: of one that is
 * made anew under the same name the old start means nothing.
 */
export class StartOffsets {
  readonly #connection: KafkaConnection;
  readonly #subscription: Subscription;
  #starts: Map<string, string> | undefined;

  constructor(connection: KafkaConnection, subscription: Subscription) {
    this.#connection = connection;
    this.#subscription = subscription;
  }

  /** To be called before every join; only the first call that succeeds asks. */
  async look(): Promise<void> {
    this.#starts ??= await this.#startsNow();
  }

  /** The places to commit for these partitions: of those that have no offset yet. */
  async of(assigned: readonly Partition[]): Promise<readonly Place[]> {
    const committed = await this.#committed();
    for (const name of committed) this.#starts?.delete(name);
    const fresh = assigned.filter((partition) => !committed.has(nameOf(partition)));
    // One that did not exist at the look, or was made anew since, is wanted from its first message on.
    const starts = this.#starts;
    return fresh.map(({ address, partition }) => ({
      topic: address,
      partition,
      offset: starts?.get(nameOf({ address, partition })) ?? '0',
    }));
  }

  /** Tells that the group has offsets of these partitions now. */
  used(address: string, partitions: readonly Pick<Partition, 'partition'>[]): void {
    for (const { partition } of partitions) this.#starts?.delete(nameOf({ address, partition }));
  }

  /** Tells that these addresses are gone: should they come back, they are wanted from their first message on. */
  forget(addresses: readonly string[]): void {
    for (const name of this.#starts?.keys() ?? [])
      if (addresses.some((address) => name.startsWith(`${address}/`))) this.#starts?.delete(name);
  }

  async #startsNow(): Promise<Map<string, string>> {
    const committed = await this.#committed();
    const starts = new Map<string, string>();
    for (const address of this.#subscription.addresses) {
      const partitions = await askBrokers(this.#connection, (admin) => admin.fetchTopicOffsets(address));
      // A group that has been here before has asked for everything since: also of partitions that were added meanwhile.
      const known = partitions.some(({ partition }) => committed.has(nameOf({ address, partition })));
      for (const { partition, low, high } of partitions)
        starts.set(nameOf({ address, partition }), known ? low : high);
    }
    return starts;
  }

  async #committed(): Promise<ReadonlySet<string>> {
    const { group, addresses } = this.#subscription;
    const found = await askBrokers(this.#connection, (admin) =>
      admin.fetchOffsets({ groupId: group, topics: [...addresses] }),
    );
    return new Set(
      found.flatMap(({ topic, partitions }) =>
        partitions
          .filter(({ offset }) => offset !== noOffset)
          .map(({ partition }) => nameOf({ address: topic, partition })),
      ),
    );
  }
}

function nameOf({ address, partition }: Partition): string {
  return `${address}/${partition}`;
}
