import type { OutboxError } from '../core/errors.ts';

/** An ordered share of one address: a Kafka partition. Brokers without partitions have only number 0. */
export interface Partition {
  /** Where messages arrive: a Kafka topic, a queue. */
  readonly address: string;
  /** Its number, from 0. */
  readonly partition: number;
}

/** One message as it arrived; nothing in it has been checked. */
export interface IncomingMessage extends Partition {
  /** Its place in the partition. Text, because it may need 64 bits. */
  readonly offset: string;
  /** Messages of one address and key are in one partition. `null`: it has none. */
  readonly key: string | null;
  /** `null`: the message has no body, as a tombstone of a compacted topic. */
  readonly body: Uint8Array | null;
  /** Of a name that occurs several times, the last value. */
  readonly headers: Readonly<Record<string, string>>;
  /** One of {@link headers}, which a source need not make all for it. */
  header(name: string): string | undefined;
  /** When the broker says it was sent. */
  readonly timestamp: Date;
}

/** Messages of one partition in their order, without a gap to what was acknowledged before. */
export interface IncomingBatch extends Partition {
  /** In the order of their offsets; at least one. */
  readonly messages: readonly IncomingMessage[];
  /** Fires when waiting has become pointless: the partition goes to another consumer, or this one stops. */
  readonly signal: AbortSignal;
  /**
   * Fires when the partition is another consumer's: what is in hand is delivered there, too, and may be left. Later than
   * {@link signal}, which a rebalance and a stop fire at their beginning, while what is in hand may still end.
   */
  readonly lost: AbortSignal;
  /**
   * False when no further message of this batch may be begun. What is not acknowledged is offered again, here or to the
   * next owner of the partition. Before the first message is acknowledged, it is not false for want of time: every offer
   * gets somewhere.
   */
  mayBegin(): boolean;
  /**
   * Says that this message needs no second delivery. In any order: a source that can only tell how far it came tells it
   * when nothing before is open.
   */
  acknowledge(message: IncomingMessage): void;
  /**
   * Gives this message back, to be offered again after `afterMs` at the earliest; where order is kept, all behind it
   * wait too, also those of this batch that were acknowledged already. Other partitions go on.
   */
  reject(message: IncomingMessage, afterMs: number): void;
}

/** What somebody should know, and messages do not tell. */
export type SourceNotice =
  /** A group leader with another assigner gave this consumer partitions that it does not handle: no member reads them. */
  | {
      readonly type: 'partitions-unread';
      readonly addresses: readonly string[];
      readonly error: OutboxError;
    }
  /** The broker has deleted messages that the group had not acknowledged; the group goes on with the oldest that is left. */
  | ({
      readonly type: 'messages-lost';
      /** The place of the first of them; `null` where it is not known. */
      readonly from: string | null;
      /** The place of the oldest message that is left. */
      readonly to: string;
      /** How many places that are; `null` where it is not known. */
      readonly messages: number | null;
      readonly error: OutboxError;
    } & Partition);

/** What a consumer wants from a source, and how it takes it. */
export interface Subscription {
  /** Where messages arrive: Kafka topics, queues. */
  readonly addresses: readonly string[];
  /** Consumers of one group share the partitions. */
  readonly group: string;
  /** Partitions handled side by side, 1 or more. */
  readonly concurrency: number;
  /** Where a group that was never here begins: true with the oldest message, false with what arrives from now on. */
  readonly fromBeginning: boolean;
  /** How long the first join may take; `Infinity`: as long as it takes. */
  readonly joinWithinMs: number;
  /** Ends the wait for the first join. @defaultValue nothing does */
  readonly signal?: AbortSignal;
  /** How many messages the consumer likes to take at once; a source may offer fewer, or more. */
  readonly batchSize: number;
  /** Takes messages of one partition; never called twice at once for the same one. It does not reject. */
  handle(batch: IncomingBatch): Promise<void>;
  /** Tells which partitions are this consumer's from now on, at every change. */
  assigned(partitions: readonly Partition[]): void;
  /** Tells that the connection was lost and when the next one is tried. */
  disconnected(error: unknown, retryInMs: number): void;
  /** Tells why nothing arrives from some of the addresses while others go on; `undefined`: all of them go on. */
  incomplete?(error: OutboxError | undefined): void;
  /** Tells what was noticed; nothing depends on anybody listening. */
  noticed?(notice: SourceNotice): void;
}

/** How far a group is behind in one partition. */
export interface Lag extends Partition {
  /** Messages that are not acknowledged, those in hand included. */
  readonly messages: number;
}

/** A running subscription. */
export interface Subscribed {
  /** How far the group is behind, in every partition of its addresses; rejects when the broker cannot be asked. */
  lag(): Promise<readonly Lag[]>;
  /** Lets the messages in hand end, records what is done, and leaves the group. */
  stop(): Promise<void>;
}

/**
 * How messages arrive, at least once.
 *
 * Rules: what was not acknowledged is delivered again; what was acknowledged may be, after a crash. Per partition the
 * order is kept. A lost connection is made again for ever, until {@link Subscribed.stop}.
 */
export interface Source {
  /** For people, for example `kafka`. */
  readonly name: string;
  /**
   * For how long after its arrival a message of these addresses may be delivered again, in milliseconds: the longest time
   * for which the broker keeps one. `Infinity` where it keeps them for ever, 0 where an acknowledged message is gone.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`; `OUTBOX_ADDRESS_MISSING` for an address that does not exist;
   * `OUTBOX_PRIVILEGE_MISSING` where the broker does not tell this client
   */
  redeliveryHorizonMs(addresses: readonly string[]): Promise<number>;
  /**
   * Joins the group and begins to deliver.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` when it could not join in time; `OUTBOX_ADDRESS_MISSING` when it was for
   * want of an address, which `disconnected` has told at once; and the reason of `signal`
   */
  subscribe(subscription: Subscription): Promise<Subscribed>;
}
