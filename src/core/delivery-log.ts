/** One record that a broker holds, as far as an auditor needs it. */
export interface LogRecord {
  readonly address: string;
  readonly partition: number;
  /** Its place in the partition; text, because it may need 64 bits. */
  readonly offset: string;
  /** When the broker says that it was written; by the sender's clock, where the broker keeps that. */
  readonly at: Date;
  /** The message that it says it is (`ce_id`); null: it does not say. */
  readonly id: string | null;
  /** Who says it sent it (`ce_source`). */
  readonly source: string | null;
  /** The topic that it says it belongs to (`ce_type`). */
  readonly type: string | null;
  readonly key: string | null;
  /** SHA-256 of the body in hexadecimal. */
  readonly payloadHash: string;
}

/** What is read of one partition. */
export interface LogRange {
  readonly address: string;
  readonly partition: number;
  /** The first offset that is read. */
  readonly from: string;
  /** The offset after the last one. */
  readonly to: string;
  /** True when it begins where the broker has deleted what was before. */
  readonly truncated: boolean;
}

/** What a broker held at one moment. */
export interface DeliveryLog {
  readonly ranges: readonly LogRange[];
  /** All records of the ranges, per partition in order. May be read once. */
  records(): AsyncIterable<readonly LogRecord[]>;
}

/** Reads what lies at a broker, without a trace in it that anybody else would notice. */
export interface LogReader {
  /**
   * Looks where the addresses end now, and where they were at `since`.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`
   */
  open(addresses: readonly string[], since: Date | null): Promise<DeliveryLog>;
}
