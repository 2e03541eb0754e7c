/** Counts of messages by how they ended, since the start of this consumer. */
export interface ConsumerCounts {
  /** Committed with their effects, including parked ones that were tried again. */
  readonly handled: number;
  /** Dropped, because their effects were already committed, or they were already kept. */
  readonly duplicates: number;
  /** Dropped without their effects, because the time of their `ce_expirytime` had passed. */
  readonly expired: number;
  /** Kept for a later try: after a failure, or behind an earlier message of their key. */
  readonly parked: number;
  /** Failed for good, and kept for a person. */
  readonly failed: number;
  /** Skipped, because their topic has no handler here. */
  readonly ignored: number;
  /** Tries that were rolled back. */
  readonly failedAttempts: number;
}

/** The counts of one consumer. */
export class Tally {
  handled = 0;
  duplicates = 0;
  expired = 0;
  parked = 0;
  failed = 0;
  ignored = 0;
  failedAttempts = 0;
  /** Messages that are being handled now. */
  inFlight = 0;
  readonly #ended: () => void;

  /** @param ended called each time a message has ended */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  /** Counts a message that has ended. */
  count(end: Exclude<keyof ConsumerCounts, 'failedAttempts'>): void {
    this[end] += 1;
    this.#ended();
  }

  counts(): ConsumerCounts {
    const { handled, duplicates, expired, parked, failed, ignored, failedAttempts } = this;
    return { handled, duplicates, expired, parked, failed, ignored, failedAttempts };
  }
}
