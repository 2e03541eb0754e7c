/** How many messages ended how, since the start of this consumer. */
export interface ConsumerCounts {
  /** Committed with their effects, parked ones that were tried again included. */
  readonly handled: number;
  /** Dropped, because their effects were committed before, or they were kept before. */
  readonly duplicates: number;
  /** Kept for a later try: after a failure, or behind one of their key. */
  readonly parked: number;
  /** Given up, and kept for a person. */
  readonly failed: number;
  /** Passed over, being of a topic without a handler here. */
  readonly ignored: number;
  /** Tries that were rolled back. */
  readonly failedAttempts: number;
}

/** The counts of one consumer. */
export class Tally {
  handled = 0;
  duplicates = 0;
  parked = 0;
  failed = 0;
  ignored = 0;
  failedAttempts = 0;
  /** Messages that are being handled now. */
  inFlight = 0;
  readonly #ended: () => void;

  /** @param ended called whenever a message has ended */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  /** Counts a message that has ended. */
  count(end: Exclude<keyof ConsumerCounts, 'failedAttempts'>): void {
    this[end] += 1;
    this.#ended();
  }

  counts(): ConsumerCounts {
    const { handled, duplicates, parked, failed, ignored, failedAttempts } = this;
    return { handled, duplicates, parked, failed, ignored, failedAttempts };
  }
}
