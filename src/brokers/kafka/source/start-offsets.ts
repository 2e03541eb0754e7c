import type { Partition, Subscription } from '../../source.ts';
import { askBrokers } from '../client/ask-brokers.ts';
import type { KafkaConnection } from '../client/connection.ts';

/** An offset of a partition, in the types of kafkajs. */
export interface TopicOffset {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
}

/** Kafka's answer if no offset is committed. kafkajs commits other negative ones, to begin with the oldest message. */
const noOffset = '-1';

/**
 * Where a group begins: with the oldest message, or with those that arrive from now on. It is committed before the first message
 * is handled, so that Kafka knows what a group reads, and that all of it waits, also while no consumer runs.
 *
 * For Kafka, "latest" is the end of the log at the moment of a fetch, until an offset is committed: messages that
 * arrive before the first commit could be lost. So the ends of the logs are looked up before the first join, and
 * committed for the partitions for which the group has no offset.
 *
 * A start offset is dropped once the group has committed an offset. Kafka drops the offsets of a deleted topic: for a
 * topic that is created again under the same name, the old start offset is meaningless.
 */
export class StartOffsets {
  readonly #connection: KafkaConnection;
  readonly #subscription: Subscription;
  #starts: Map<string, string> | undefined;

  constructor(connection: KafkaConnection, subscription: Subscription) {
    this.#connection = connection;
    this.#subscription = subscription;
  }

  /** Must be called before every join; only the first call that succeeds queries Kafka. */
  async look(): Promise<void> {
    if (!this.#subscription.fromBeginning) this.#starts ??= await this.#startsNow();
  }

  /** The offsets to commit for these partitions, of those that have none yet. */
  async of(assigned: readonly Partition[]): Promise<readonly TopicOffset[]> {
    const committed = await this.#committed();
    for (const name of committed) this.#starts?.delete(name);
    const fresh = assigned.filter((partition) => !committed.has(nameOf(partition)));
    if (fresh.length === 0) return [];
    // A topic created, or created again, since the lookup is read from its first message on.
    const starts = this.#subscription.fromBeginning ? await this.#oldest(fresh) : this.#starts;
    return fresh.map(({ address, partition }) => ({
      topic: address,
      partition,
      offset: starts?.get(nameOf({ address, partition })) ?? '0',
    }));
  }

  /** Records that the group now has offsets for these partitions. */
  used(address: string, partitions: readonly Pick<Partition, 'partition'>[]): void {
    for (const { partition } of partitions) this.#starts?.delete(nameOf({ address, partition }));
  }

  /** Records that these topics were deleted: if they are created again, they are read from the first message on. */
  forget(addresses: readonly string[]): void {
    for (const name of this.#starts?.keys() ?? [])
      if (addresses.some((address) => name.startsWith(`${address}/`))) this.#starts?.delete(name);
  }

  async #startsNow(): Promise<Map<string, string>> {
    const committed = await this.#committed();
    const starts = new Map<string, string>();
    for (const address of this.#subscription.addresses) {
      const partitions = await askBrokers(this.#connection, (admin) => admin.fetchTopicOffsets(address));
      // An existing group wants everything that has arrived since, also in partitions that were added meanwhile.
      const known = partitions.some(({ partition }) => committed.has(nameOf({ address, partition })));
      for (const { partition, low, high } of partitions)
        starts.set(nameOf({ address, partition }), known ? low : high);
    }
    return starts;
  }

  async #oldest(partitions: readonly Partition[]): Promise<ReadonlyMap<string, string>> {
    const addresses = [...new Set(partitions.map(({ address }) => address))];
    const found = await askBrokers(this.#connection, (admin) =>
      Promise.all(
        addresses.map(async (address) => ({ address, offsets: await admin.fetchTopicOffsets(address) })),
      ),
    );
    return new Map(
      found.flatMap(({ address, offsets }) =>
        offsets.map(({ low, partition }) => [nameOf({ address, partition }), low] as const),
      ),
    );
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
