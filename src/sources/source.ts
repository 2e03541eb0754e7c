/** An ordered share of one address: a Kafka partition. Brokers without partitions have only number 0. */
export interface Partition {
  /** Where messages arrive: a Kafka topic, a queue. */
  readonly address: string;
  readonly partition: number;
}

/** One message as it arrived; nothing in it has been checked. */
export interface IncomingMessage extends Partition {
  /** Its place in the partition. Text, because it may need 64 bits. */
  readonly offset: string;
  readonly key: string | null;
  /** `null`: the message has no body, as a tombstone of a compacted topic. */
  readonly body: Uint8Array | null;
  /** Of a name that occurs several times, the last value. */
  readonly headers: Readonly<Record<string, string>>;
  /** When the broker says it was sent. */
  readonly timestamp: Date;
}

/** Messages of one partition, in order, without a gap to what was done before. */
export interface IncomingBatch extends Partition {
  readonly messages: readonly IncomingMessage[];
  /** Fires when waiting has become pointless: the partition goes to another consumer, or this one stops. */
  readonly signal: AbortSignal;
  /**
   * False when no further message of this batch may be begun. What is not done is offered again, here or to the next
   * owner of the partition.
   */
  mayBegin(): boolean;
  /** Says that this message, and with it all before it in the partition, needs no second delivery. */
  done(message: IncomingMessage): void;
}

/** What a consumer wants from a source, and how it takes it. */
export interface Subscription {
  readonly addresses: readonly string[];
  /** Consumers of one group share the partitions. */
  readonly group: string;
  /** Partitions handled side by side, 1 or more. */
  readonly concurrency: number;
  /** Where a group that was never here begins: true with the oldest message, false with what arrives from now on. */
  readonly fromBeginning: boolean;
  /** How long the first join may take. */
  readonly joinWithinMs: number;
  /**
   * Takes messages of one partition; never called twice at once for the same one. It does not reject.
   *
   * @returns how long the rest of the partition must wait, while others go on; `undefined`: not at all
   */
  handle(batch: IncomingBatch): Promise<number | undefined>;
  /** Tells which partitions are this consumer's from now on, at every change. */
  assigned(partitions: readonly Partition[]): void;
  /** Tells that the connection was lost and when the next one is tried. */
  disconnected(error: unknown, retryInMs: number): void;
}

/** A running subscription. */
export interface Subscribed {
  /** Lets the messages in hand end, records what is done, and leaves the group. */
  stop(): Promise<void>;
}

/**
 * How messages arrive, at least once.
 *
 * Rules: what was not told as done is delivered again; what was told as done may be, after a crash. Per partition the
 * order is kept. A lost connection is made again for ever, until {@link Subscribed.stop}.
 */
export interface Source {
  /** For people, for example `kafka`. */
  readonly name: string;
  /**
   * Joins the group and begins to deliver.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when it could not join in time
   */
  subscribe(subscription: Subscription): Promise<Subscribed>;
}
