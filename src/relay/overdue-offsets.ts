/** What a broker knows about consumer groups. Every call rejects when it cannot be asked. */
export interface OffsetReader {
  /** By partition, the first offset that the group has not committed; without those of which it has committed none. */
  committed(group: string, address: string): Promise<ReadonlyMap<number, string>>;
  /** By partition, the offset of the next message; without partitions that hold none. */
  ends(address: string): Promise<ReadonlyMap<number, string>>;
}

/** How far a consumer group has come, as far as it matters for receipts. */
export interface CommittedOffsets {
  /**
   * By partition, the first offset that the group has not passed. Every receipt that was sent before the group had
   * passed so far is known to the outbox by now.
   *
   * @returns `undefined` when that cannot be said at the moment, because receipts are still to be read
   */
  passed(group: string, address: string): Promise<ReadonlyMap<number, string> | undefined>;
}

/** Where receipts arrive, and which group of relays reads them. */
export interface ReceiptPlace {
  readonly group: string;
  readonly address: string;
}

interface Look {
  readonly passed: ReadonlyMap<number, string>;
  readonly receiptEnds: ReadonlyMap<number, string>;
  readonly at: number;
}

/** An older look at offsets would only postpone what could be judged by a new one. */
const freshMs = 60_000;

/**
 * Committed offsets that wait for the receipts before them.
 *
 * A consumer sends its receipts before it commits its offsets, but relays that were away have not read them yet, and
 * would send everything again. So the offsets of the group are noted first, then the end of the receipts, and the
 * offsets count only when the relays have read that far.
 */
export class OffsetsBehindReceipts implements CommittedOffsets {
  readonly #reader: OffsetReader;
  readonly #receipts: ReceiptPlace;
  readonly #looks = new Map<string, Look>();

  constructor(reader: OffsetReader, receipts: ReceiptPlace) {
    this.#reader = reader;
    this.#receipts = receipts;
  }

  async passed(group: string, address: string): Promise<ReadonlyMap<number, string> | undefined> {
    const name = `${address}/${group}`;
    const noted = this.#looks.get(name);
    const look =
      noted !== undefined && performance.now() - noted.at < freshMs
        ? noted
        : await this.#look(group, address);
    this.#looks.set(name, look);
    const read = await this.#reader.committed(this.#receipts.group, this.#receipts.address);
    for (const [partition, end] of look.receiptEnds) {
      if (BigInt(read.get(partition) ?? -1) < BigInt(end)) return undefined;
    }
    this.#looks.delete(name);
    return look.passed;
  }

  /** The order matters: a receipt of what the group had passed lies before the end that is read afterwards. */
  async #look(group: string, address: string): Promise<Look> {
    const at = performance.now();
    const passed = await this.#reader.committed(group, address);
    return { at, passed, receiptEnds: await this.#reader.ends(this.#receipts.address) };
  }
}
