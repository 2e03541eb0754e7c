import type { LogEntry } from 'kafkajs';
import { OutboxError } from '../../../core/errors.ts';
import type { Partition, Subscription } from '../../source.ts';
import { askBrokers } from '../client/ask-brokers.ts';
import type { KafkaConnection } from '../client/connection.ts';

/** What kafkajs logs before it resets a partition to the oldest message; it has no event for this. */
const resetMessage = 'Offset out of range, resetting to default offset';

/**
 * Messages that Kafka has deleted before the group had acknowledged them. kafkajs skips them silently.
 *
 * If the group was away, losses are found before a member joins, because kafkajs drops the old offset with its first
 * fetch. If a member is too slow, they are found by comparing with the last offset that it processed.
 */
export class Losses {
  readonly #connection: KafkaConnection;
  readonly #subscription: Subscription;
  /** The next offset of each partition, after the last one that is done. */
  readonly #nextOffsets = new Map<string, bigint>();
  readonly #reset = new Set<string>();
  readonly #told = new Set<string>();

  constructor(connection: KafkaConnection, subscription: Subscription) {
    this.#connection = connection;
    this.#subscription = subscription;
  }

  /** Must be called before a join. If Kafka cannot be queried, nothing is reported. */
  async look(): Promise<void> {
    const { group, addresses } = this.#subscription;
    if (this.#subscription.noticed === undefined) return;
    const { committed, logs } = await askBrokers(this.#connection, async (admin) => ({
      committed: await admin.fetchOffsets({ groupId: group, topics: [...addresses] }),
      logs: await Promise.all(
        addresses.map(async (address) => ({ address, partitions: await admin.fetchTopicOffsets(address) })),
      ),
    })).catch(() => ({ committed: [], logs: [] }));
    const offsets = new Map(
      committed.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset }) => [nameOf(topic, partition), BigInt(offset)] as const),
      ),
    );
    for (const { address, partitions } of logs)
      for (const { partition, low } of partitions) {
        const offset = offsets.get(nameOf(address, partition)) ?? -1n;
        if (offset < 0n || offset >= BigInt(low)) continue;
        this.#told.add(nameOf(address, partition));
        this.#tell({ address, partition }, offset, BigInt(low));
      }
  }

  /** Records resets that kafkajs logs. */
  logged({ log }: LogEntry): void {
    const topic: unknown = log['topic'];
    const partition: unknown = log['partition'];
    if (log.message === resetMessage && typeof topic === 'string' && typeof partition === 'number')
      this.#reset.add(nameOf(topic, partition));
  }

  /** Must be called when a batch begins, with its first offset. */
  arrived({ address, partition }: Partition, first: string): void {
    const name = nameOf(address, partition);
    if (!this.#reset.delete(name) || this.#told.delete(name)) return;
    this.#tell({ address, partition }, this.#nextOffsets.get(name), BigInt(first));
  }

  /** Marks this offset, and all before it, as done. */
  done({ address, partition }: Partition, offset: string): void {
    this.#nextOffsets.set(nameOf(address, partition), BigInt(offset) + 1n);
  }

  #tell({ address, partition }: Partition, from: bigint | undefined, to: bigint): void {
    if (from !== undefined && from >= to) return;
    const { group } = this.#subscription;
    const messages = from === undefined ? null : Number(to - from);
    this.#subscription.noticed?.({
      type: 'messages-lost',
      address,
      partition,
      from: from === undefined ? null : String(from),
      to: String(to),
      messages,
      error: new OutboxError(
        'OUTBOX_MESSAGES_EXPIRED',
        `Kafka has deleted ${messages ?? 'some'} messages of ${address}/${partition} that the group "${group}" had not read: it continues at offset ${to}.`,
        { details: { address, partition, group, messages } },
      ),
    });
  }
}

function nameOf(address: string, partition: number): string {
  return `${address}/${partition}`;
}
