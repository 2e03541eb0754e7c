/** One record of a broker's log, as needed for a verification. */
export interface LogRecord {
  /** Where it was sent, such as a Kafka topic. */
  readonly address: string;
  /** Its partition, from 0. */
  readonly partition: number;
  /** Its offset; a string, because it may need 64 bits. */
  readonly offset: string;
  /** Its timestamp: the broker's, or the sender's if the broker keeps that. */
  readonly at: Date;
  /** The message id in its headers (`ce_id`); `null`: none. */
  readonly id: string | null;
  /** The source in its headers (`ce_source`). */
  readonly source: string | null;
  /** The topic in its headers (`ce_type`). */
  readonly type: string | null;
  /** Its key; `null`: none. */
  readonly key: string | null;
  /** SHA-256 of the body in hexadecimal. */
  readonly payloadHash: string;
}

/** The range of one partition that is read. */
export interface LogRange {
  /** Where its records were sent. */
  readonly address: string;
  /** The partition, from 0. */
  readonly partition: number;
  /** The first offset that is read. */
  readonly from: string;
  /** The offset after the last one. */
  readonly to: string;
  /** True if the broker has deleted records before it. */
  readonly truncated: boolean;
}

/** What a broker's log contained at one time. */
export interface DeliveryLog {
  /** One per partition. */
  readonly ranges: readonly LogRange[];
  /** All records of the ranges, in order within a partition. Can be read once. */
  records(): AsyncIterable<readonly LogRecord[]>;
}

/** Some offsets of a partition, one after the other. */
export interface LogStretch {
  /** The partition, from 0. */
  readonly partition: number;
  /** The first offset. */
  readonly from: string;
  /** How many offsets, at least 1. */
  readonly count: number;
}

/** What a broker's log has at some offsets. */
export interface LogExcerpt {
  /** Every partition of the address as a whole. */
  readonly ranges: readonly LogRange[];
  /** Records that are still at the offsets that were asked for. */
  readonly records: readonly LogRecord[];
}

/** Reads the log of a broker without affecting its consumers. */
export interface LogReader {
  /**
   * Finds the current ends of the addresses, and their offsets at `since`.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`
   */
  open(addresses: readonly string[], since: Date | null): Promise<DeliveryLog>;
  /**
   * Reads no more than these offsets of an address, at most one stretch per partition. Absent if the log can only be read as a whole.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`
   */
  excerpt?(address: string, stretches: readonly LogStretch[]): Promise<LogExcerpt>;
}
