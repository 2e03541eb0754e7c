/** One message as a transport receives it. The relay has already ordered, deduplicated and bounded the batch. */
export interface OutgoingMessage {
  /** UUID of the row; it travels to the consumer, which drops repeats by it. */
  readonly id: string;
  /** Messages with equal keys keep their order. `null`: no order. */
  readonly key: string | null;
  /** The body, exactly as it was stored. */
  readonly payload: string;
  /** All headers, CloudEvents included; names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A batch for one address, in the order in which it must arrive per key. */
export interface OutgoingBatch {
  /** Where to: a Kafka topic, an exchange, a URL. */
  readonly address: string;
  /** Pinned number of partitions, from {@link Transport.partitionCount}; 1 where a transport has none. */
  readonly partitions: number;
  /** At least one. */
  readonly messages: readonly OutgoingMessage[];
  /** Fires when the relay gives up the batch (shutdown, lost lease): stop sending as soon as possible. */
  readonly signal: AbortSignal;
}

/**
 * What became of one message.
 *
 * - `acknowledged`: the broker confirmed it. An offset that is no whole number is not kept in the row.
 * - `rejected`: refused for now, surely not stored; it is retried later and counts as an attempt.
 * - `permanent`: refused for ever, surely not stored; it becomes failed.
 * - `ambiguous`: no answer tells whether it was stored; it is retried and can no longer be canceled.
 * - `held`: not sent, because an earlier message of its key was not acknowledged. `onWire` is true when it may have
 *   been stored nevertheless, by a request with both of them in it that had no clear answer.
 * - `deferred`: not delivered because the topic or the transport is unreachable; no attempt is spent. `onWire` is true
 *   when it may have been stored nevertheless.
 */
export type PublishOutcome =
  | { readonly kind: 'acknowledged'; readonly partition: number | null; readonly offset: string | null }
  | { readonly kind: 'rejected'; readonly error: string }
  | { readonly kind: 'permanent'; readonly error: string }
  | { readonly kind: 'ambiguous'; readonly error: string }
  | { readonly kind: 'held'; readonly onWire?: boolean }
  | { readonly kind: 'deferred'; readonly onWire: boolean };

/** Why nothing more can be sent for now: to this topic, or to any topic of the transport. */
export interface Hold {
  /** What cannot be reached. */
  readonly scope: 'topic' | 'transport';
  /** For people, for example `connect ECONNREFUSED 127.0.0.1:9092`. */
  readonly reason: string;
}

/** The answer to a batch: one outcome per message, in the order of the batch, and the hold if one began. */
export interface PublishResult {
  /** One per message, in the order of the batch. */
  readonly outcomes: readonly PublishOutcome[];
  /** Present exactly when an outcome is `deferred`. */
  readonly hold?: Hold;
}

/**
 * How messages leave. `transportContract` of `temporal-outbox/testing` tells whether an implementation keeps the rules.
 *
 * Rules: `publish` never throws for what a broker does; it answers per message. Once a message of a key is not
 * acknowledged, no later message of that key is sent: it answers `held`, or `deferred` in a hold. A transport does not
 * retry; the relay does. It connects when first used and may be used again after {@link Transport.close}.
 */
export interface Transport {
  /** For people and metrics, for example `kafka`. */
  readonly name: string;
  /** Where it connects, for people: addresses without credentials. Absent where it connects to nothing. */
  readonly endpoint?: string;
  /** Sends a batch, and resolves when it is known what became of each message. */
  publish(batch: OutgoingBatch): Promise<PublishResult>;
  /** Resolves when the address can be reached now; rejects with the reason otherwise. Ends a hold. */
  probe(address: string): Promise<void>;
  /** How many partitions the address has now. Absent where a transport has none. */
  partitionCount?(address: string): Promise<number>;
  /** Ends connections. Open calls are settled first or answer `deferred`. */
  close(): Promise<void>;
}
