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

/** Reads the log of a broker without affecting its consumers. */
export interface LogReader {
  /**
   * Finds the current ends of the addresses, and their offsets at `since`.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`
   */
  open(addresses: readonly string[], since: Date | null): Promise<DeliveryLog>;
}
