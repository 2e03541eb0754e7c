import type { Partition } from '../../brokers/source.ts';

/**
 * The messages of each partition to apply one at a time, because a transaction of several has failed.
 *
 * A partition is offered in time slices: without this, each slice would begin with the failing transaction again.
 */
export class FailedChunks {
  readonly #byPartition = new Map<string, ReadonlySet<string>>();

  /** @param offsets of all messages of the transaction */
  failed(partition: Partition, offsets: readonly string[]): void {
    this.#byPartition.set(nameOf(partition), new Set(offsets));
  }

  /**
   * How many leading messages are to be applied one at a time; if none, the partition is past them and they are
   * forgotten.
   */
  leading(partition: Partition, offsets: () => readonly string[]): number {
    const those = this.#byPartition.get(nameOf(partition));
    // Called for every batch; nearly always empty.
    if (those === undefined) return 0;
    const last = offsets().findLastIndex((offset) => those.has(offset));
    if (last === -1) this.#byPartition.delete(nameOf(partition));
    return last + 1;
  }

  /** Forgets partitions that are no longer assigned. */
  keepOnly(partitions: readonly Partition[]): void {
    const mine = new Set(partitions.map(nameOf));
    for (const name of this.#byPartition.keys()) if (!mine.has(name)) this.#byPartition.delete(name);
  }
}

function nameOf({ address, partition }: Partition): string {
  return `${address}/${partition}`;
}
