/** What a broker knows about consumer groups. Every call rejects if the broker cannot be reached. */
export interface OffsetReader {
  /** By partition, the first offset that the group has not committed; without partitions where it has committed none. */
  committed(group: string, address: string): Promise<ReadonlyMap<number, string>>;
  /** By partition, the offset of the next message; without partitions that hold none. */
  ends(address: string): Promise<ReadonlyMap<number, string>>;
}

/** How far a consumer group has come, as needed to judge missing receipts. */
export interface CommittedOffsets {
  /**
   * By partition, the first offset that the group has not passed. All receipts that the group sent before it passed these
   * offsets have been applied.
   *
   * @returns `undefined` if that is not certain yet, because receipts are still to be read
   */
  passed(group: string, address: string): Promise<ReadonlyMap<number, string> | undefined>;
}

/** The address of receipts, and the consumer group of the relays that read them. */
export interface ReceiptLog {
  readonly group: string;
  readonly address: string;
}

interface Look {
  readonly passed: ReadonlyMap<number, string>;
  readonly receiptEnds: ReadonlyMap<number, string>;
  readonly at: number;
}

/** Older offsets are read again: newer ones allow more messages to be judged. */
const freshMs = 60_000;

/**
 * Committed offsets that wait for the receipts before them.
 *
 * A consumer sends its receipts before it commits its offsets, but relays that were down have not read the receipts yet
 * and would resend everything. So the offsets of the group are read first, then the end of the receipts' log, and the
 * offsets count only after the relays have read up to that end.
 */
export class OffsetsBehindReceipts implements CommittedOffsets {
  readonly #reader: OffsetReader;
  readonly #receipts: ReceiptLog;
  readonly #looks = new Map<string, Look>();

  constructor(reader: OffsetReader, receipts: ReceiptLog) {
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

  /** The order matters: receipts of what the group had passed lie before an end that is read afterwards. */
  async #look(group: string, address: string): Promise<Look> {
    const at = performance.now();
    const passed = await this.#reader.committed(group, address);
    return { at, passed, receiptEnds: await this.#reader.ends(this.#receipts.address) };
  }
}
