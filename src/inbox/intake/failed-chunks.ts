import type { Partition } from '../../sources/source.ts';

/**
 * Which messages of each partition are applied singly, because a transaction of several of them has failed.
 *
 * A partition is offered in shares of time: without this memory each share would begin with the transaction that fails.
 */
export class FailedChunks {
  readonly #byPartition = new Map<string, ReadonlySet<string>>();

  /** @param offsets of all messages of the transaction */
  failed(partition: Partition, offsets: readonly string[]): void {
    this.#byPartition.set(nameOf(partition), new Set(offsets));
  }

  /**
   * How many of these messages, from the first on, are to be applied singly; where none is, the partition is past them
   * and they are forgotten.
   */
  leading(partition: Partition, offsets: () => readonly string[]): number {
    const those = this.#byPartition.get(nameOf(partition));
    // Asked for every batch, and nearly always there is none.
    if (those === undefined) return 0;
    const last = offsets().findLastIndex((offset) => those.has(offset));
    if (last === -1) this.#byPartition.delete(nameOf(partition));
    return last + 1;
  }

  /** Forgets the partitions of others, who find out for themselves. */
  keepOnly(partitions: readonly Partition[]): void {
    const mine = new Set(partitions.map(nameOf));
    for (const name of this.#byPartition.keys()) if (!mine.has(name)) this.#byPartition.delete(name);
  }
}

function nameOf({ address, partition }: Partition): string {
  return `${address}/${partition}`;
}
