import type { FetchedRecord, RecordContext } from './fetched-record.ts';

/** A transaction as an answer names it: it has been aborted, and begins at this offset. */
export interface AbortedTransaction {
  readonly producerId: string;
  readonly firstOffset: string;
}

/** Type of the control record that ends an aborted transaction, behind the version of its key. */
const abort = 0;

/**
 * Tells which batches of an answer belong to aborted transactions, as Kafka's own client does. kafkajs looks at one transaction
 * per record, so where several producers have aborted theirs it hands over records of the later ones.
 */
export class AbortedTransactions {
  /** By their first offsets. */
  readonly #coming: AbortedTransaction[];
  readonly #producers = new Set<string>();

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#coming = aborted.toSorted((one, other) =>
      BigInt(one.firstOffset) < BigInt(other.firstOffset) ? -1 : 1,
    );
  }

  /** To be asked for each batch, in their order. @param end its last offset */
  has({ inTransaction, isControlBatch, producerId }: RecordContext, end: bigint): boolean {
    for (
      let [next] = this.#coming;
      next !== undefined && BigInt(next.firstOffset) <= end;
      [next] = this.#coming
    ) {
      this.#producers.add(next.producerId);
      this.#coming.shift();
    }
    return inTransaction && !isControlBatch && this.#producers.has(producerId);
  }

  /** To be called with each control record. */
  ended({ batchContext, key }: FetchedRecord): void {
    if (key !== null && key.length >= 4 && key.readInt16BE(2) === abort)
      this.#producers.delete(batchContext.producerId);
  }
}
