import { hasReached, type OffsetReader, type Passed, PassedTimes } from './passed-times.ts';

/** How far a consumer group has come, as needed to judge missing receipts. */
export interface CommittedOffsets {
  /**
   * What the group has passed. All receipts that it sent before it passed that have been applied.
   *
   * @param unplaced whether `before` is needed, because the broker does not report where a message lies
   * @returns `undefined` if that is not certain yet, because receipts are still to be read
   */
  passed(group: string, address: string, unplaced: boolean): Promise<Passed | undefined>;
}

/** The address of receipts, and the consumer group of the relays that read them. */
export interface ReceiptLog {
  readonly group: string;
  readonly address: string;
}

interface Look {
  readonly passed: Passed;
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
  readonly #times: PassedTimes;
  readonly #looks = new Map<string, Look>();

  /** @param clock a time of the database by which every message that is noted as published is part of later ends */
  constructor(reader: OffsetReader, receipts: ReceiptLog, clock: () => Promise<string>) {
    this.#reader = reader;
    this.#receipts = receipts;
    this.#times = new PassedTimes(reader, clock);
  }

  async passed(group: string, address: string, unplaced: boolean): Promise<Passed | undefined> {
    const name = `${address}/${group}/${unplaced}`;
    const noted = this.#looks.get(name);
    const look =
      noted !== undefined && performance.now() - noted.at < freshMs
        ? noted
        : await this.#look(group, address, unplaced);
    this.#looks.set(name, look);
    const read = await this.#reader.committed(this.#receipts.group, this.#receipts.address);
    if (!hasReached(read, look.receiptEnds)) return undefined;
    this.#looks.delete(name);
    return look.passed;
  }

  /** The order matters: receipts of what the group had passed lie before an end that is read afterwards. */
  async #look(group: string, address: string, unplaced: boolean): Promise<Look> {
    const at = performance.now();
    const passed: Passed = unplaced
      ? await this.#times.passed(group, address)
      : { offsets: await this.#reader.committed(group, address), before: undefined, soon: false };
    return { at, passed, receiptEnds: await this.#reader.ends(this.#receipts.address) };
  }
}
