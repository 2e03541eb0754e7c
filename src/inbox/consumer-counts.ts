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

type Counted = { -readonly [Name in keyof ConsumerCounts]: number };

const none: ConsumerCounts = {
  handled: 0,
  duplicates: 0,
  expired: 0,
  parked: 0,
  failed: 0,
  ignored: 0,
  failedAttempts: 0,
};

/** The counts of one consumer. */
export class Tally {
  failedAttempts = 0;
  /** Messages that are being handled now. */
  inFlight = 0;
  readonly #all: Counted = { ...none };
  readonly #byTopic: ReadonlyMap<string, Counted>;
  readonly #ofOthers: Counted = { ...none };
  readonly #ended: () => void;

  /**
   * @param topics those that are counted one by one: what else a message calls its topic is not bounded
   * @param ended called each time a message has ended
   */
  constructor(topics: readonly string[], ended: () => void) {
    this.#byTopic = new Map(topics.map((topic) => [topic, { ...none }]));
    this.#ended = ended;
  }

  /** Counts a message that has ended. @param topic what it calls its topic; `undefined`: only its id is known */
  count(end: Exclude<keyof ConsumerCounts, 'failedAttempts'>, topic: string | undefined): void {
    this.#all[end] += 1;
    const counted = topic === undefined ? undefined : this.#byTopic.get(topic);
    (counted ?? this.#ofOthers)[end] += 1;
    this.#ended();
  }

  counts(): ConsumerCounts {
    return { ...this.#all, failedAttempts: this.failedAttempts };
  }

  /** The counts of each topic, and of all others as `_OTHER`; without failed attempts. */
  topics(): readonly (readonly [string, ConsumerCounts])[] {
    return [...this.#byTopic, ['_OTHER', this.#ofOthers]];
  }
}
