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
  /** Its offset in the partition. A string, because it may need 64 bits. */
  readonly offset: string;
  /** Messages of one address and key are in one partition. `null`: it has none. */
  readonly key: string | null;
  /** `null`: the message has no body, like a tombstone of a compacted topic. */
  readonly body: Uint8Array | null;
  /** For a repeated name, the last value. */
  readonly headers: Readonly<Record<string, string>>;
  /** One of {@link headers}, without decoding all of them. */
  header(name: string): string | undefined;
  /** When it was sent, according to the broker. */
  readonly timestamp: Date;
}

/** Messages of one partition in order, without a gap after the last acknowledged one. */
export interface IncomingBatch extends Partition {
  /** In the order of their offsets; at least one. */
  readonly messages: readonly IncomingMessage[];
  /** Fires when waiting has become pointless: the partition goes to another consumer, or this one stops. */
  readonly signal: AbortSignal;
  /**
   * Fires when the partition belongs to another consumer: messages in hand are delivered there, too, and may be abandoned.
   * Later than {@link signal}, which fires at the beginning of a rebalance or stop, while messages in hand may still end.
   */
  readonly lost: AbortSignal;
  /**
   * False when no further message of this batch may be begun. Messages that are not acknowledged are offered again, here or to
   * the next owner of the partition. Before the first message is acknowledged, it is never false for lack of time: so every
   * offer makes progress.
   */
  mayBegin(): boolean;
  /**
   * Acknowledges a message: it need not be delivered again. Any order is allowed: a source that can only commit an offset does
   * so when no earlier message is open.
   */
  acknowledge(message: IncomingMessage): void;
  /**
   * Gives a message back, to be offered again no earlier than after `afterMs`; if order is kept, all later ones wait, too, even
   * acknowledged ones of this batch. Other partitions go on.
   */
  reject(message: IncomingMessage, afterMs: number): void;
}

/** Events of a source, apart from messages. */
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
      /** Offset of the first of them; `null` if unknown. */
      readonly from: string | null;
      /** Offset of the oldest remaining message. */
      readonly to: string;
      /** Number of offsets between them; `null` if unknown. */
      readonly messages: number | null;
      readonly error: OutboxError;
    } & Partition);

/** What a consumer wants from a source, and its callbacks. */
export interface Subscription {
  /** Where messages arrive: Kafka topics, queues. */
  readonly addresses: readonly string[];
  /** Consumers of one group share the partitions. */
  readonly group: string;
  /** Number of partitions that are handled concurrently, 1 or more. */
  readonly concurrency: number;
  /** Where a new group begins: true with the oldest message, false with messages that arrive from now on. */
  readonly fromBeginning: boolean;
  /** How long the first join may take; `Infinity`: as long as it takes. */
  readonly joinWithinMs: number;
  /** Ends the wait for the first join. @defaultValue none */
  readonly signal?: AbortSignal;
  /** Preferred number of messages per batch; a source may offer fewer, or more. */
  readonly batchSize: number;
  /** Takes messages of one partition; never called concurrently for the same one. Must not reject. */
  handle(batch: IncomingBatch): Promise<void>;
  /** Called at every change with the partitions that this consumer owns from now on. */
  assigned(partitions: readonly Partition[]): void;
  /** Called when the connection was lost, with the time until the next try. */
  disconnected(error: unknown, retryInMs: number): void;
  /** Called with the reason why some of the addresses deliver nothing while others go on; `undefined`: all of them go on. */
  incomplete?(error: OutboxError | undefined): void;
  /** Called with events; nothing depends on a listener. */
  noticed?(notice: SourceNotice): void;
}

/** How far a group is behind in one partition. */
export interface Lag extends Partition {
  /** Number of messages that are not acknowledged, including those in hand. */
  readonly messages: number;
}

/** A running subscription. */
export interface Subscribed {
  /** The lag of the group, in every partition of its addresses; rejects if the broker cannot be reached. */
  lag(): Promise<readonly Lag[]>;
  /** Finishes the messages in hand, commits what is done, and leaves the group. */
  stop(): Promise<void>;
}

/**
 * Delivers messages, at least once.
 *
 * Rules: messages that were not acknowledged are delivered again; acknowledged ones may be, after a crash. Order is kept within
 * a partition. A source reconnects without limit, until {@link Subscribed.stop}.
 */
export interface Source {
  /** Name for display, for example `kafka`. */
  readonly name: string;
  /**
   * How long after its arrival a message of these addresses may be delivered again, in milliseconds: the longest time that the
   * broker keeps one. `Infinity` if it keeps them for ever, 0 if an acknowledged message is gone.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`; `OUTBOX_ADDRESS_MISSING` for an address that does not exist;
   * `OUTBOX_PRIVILEGE_MISSING` if the broker does not allow this client to read it
   */
  redeliveryHorizonMs(addresses: readonly string[]): Promise<number>;
  /**
   * Joins the group and begins to deliver.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` if it could not join in time; `OUTBOX_ADDRESS_MISSING` if the reason was a
   * missing address, which `disconnected` has reported at once; and the reason of `signal`
   */
  subscribe(subscription: Subscription): Promise<Subscribed>;
}
