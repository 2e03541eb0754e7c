import type { OutboxError } from '../core/errors.ts';

/** An ordered part of one address: a Kafka partition. Brokers without partitions have only number 0. */
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
  /** When it was sent, as reported by the broker; without such a report, when it was received. */
  readonly timestamp: Date;
}

/** Messages of one partition in order, without a gap after the last acknowledged one. */
export interface IncomingBatch extends Partition {
  /** In the order of their offsets; at least one. */
  readonly messages: readonly IncomingMessage[];
  /** Fires when the batch should end soon: the partition is reassigned, or this consumer stops. */
  readonly signal: AbortSignal;
  /**
   * Fires when another consumer owns the partition: it receives the messages of this batch, too, so their handling may be
   * abandoned. It fires later than {@link signal}, which fires when a rebalance or stop begins and the batch may still end.
   */
  readonly lost: AbortSignal;
  /**
   * True if an offer of the same messages again would have none behind them, although the broker may: the source has reached
   * a limit of its own, so that it is no use to wait for more. @defaultValue false
   */
  readonly cut?: boolean;
  /**
   * False if no further message of this batch may be started. Messages that are not acknowledged are offered again, here or
   * to the next owner of the partition. Until the first message is acknowledged, a time limit never makes it false, so every
   * offer makes progress.
   */
  mayBegin(): boolean;
  /**
   * Acknowledges a message: it need not be delivered again. Any order is allowed: a source that commits offsets does so when
   * no earlier message is open.
   */
  acknowledge(message: IncomingMessage): void;
  /**
   * Rejects a message, to be offered again no earlier than after `afterMs`; if order is kept, all later ones wait, too, even
   * acknowledged ones of this batch. Other partitions continue.
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
  /**
   * The broker gives up messages of this address after some deliveries, because of how the queue was once made: those that
   * are delivered to consumers that crash or lose their connections. Reported whenever the queue is opened.
   */
  | { readonly type: 'deliveries-limited'; readonly address: string; readonly error: OutboxError }
  /** The broker has deleted messages that the group had not acknowledged; the group continues with the oldest one left. */
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

/** A consumer's settings for a source, and its callbacks. */
export interface Subscription {
  /** Where messages arrive: Kafka topics, queues. */
  readonly addresses: readonly string[];
  /** Consumers of one group share the partitions. */
  readonly group: string;
  /** Number of partitions that are handled concurrently, 1 or more. */
  readonly concurrency: number;
  /** Where a new group begins: true: with the oldest message; false: with messages that arrive from now on. */
  readonly fromBeginning: boolean;
  /** How long the first join may take; `Infinity`: no limit. */
  readonly joinWithinMs: number;
  /** Ends the wait for the first join. @defaultValue none */
  readonly signal?: AbortSignal;
  /** Preferred number of messages per batch; a source may offer fewer, or more. */
  readonly batchSize: number;
  /** Takes messages of one partition; never called concurrently for the same one. Must not reject. */
  handle(batch: IncomingBatch): Promise<void>;
  /** Called at every change, and when all goes on after `disconnected`, with all partitions that this consumer owns from now on. */
  assigned(partitions: readonly Partition[]): void;
  /** Called when the connection was lost, with the time until the next try. */
  disconnected(error: unknown, retryInMs: number): void;
  /** Called with the reason why some addresses deliver nothing while others continue; `undefined` when all deliver again. */
  incomplete?(error: OutboxError | undefined): void;
  /** Called with a question that this server of the broker should answer within two seconds; nothing depends on it. */
  asked?(server: string, answer: Promise<unknown>): void;
  /** Called with events; nothing depends on a listener. */
  noticed?(notice: SourceNotice): void;
}

/** How far a group is behind in one partition. */
export interface Lag extends Partition {
  /** Number of messages that are not acknowledged, including those being handled. */
  readonly messages: number;
}

/** A running subscription. */
export interface Subscribed {
  /** The lag of the group in every partition of its addresses; rejects if it cannot be determined. */
  lag(): Promise<readonly Lag[]>;
  /** Waits for the current batches, commits what is done, and leaves the group. */
  stop(): Promise<void>;
}

/**
 * Delivers messages, at least once.
 *
 * Rules: messages that were not acknowledged are delivered again; acknowledged ones may be, after a crash. Order is kept
 * within a partition. A source reconnects without limit, until {@link Subscribed.stop}.
 */
export interface Source {
  /** Name for display, for example `kafka`. */
  readonly name: string;
  /**
   * How long after its arrival an acknowledged message of these addresses may be delivered again, in milliseconds: the
   * longest time that the broker keeps one. `Infinity`: forever; 0: acknowledged messages are gone.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`; `OUTBOX_ADDRESS_MISSING` for an address that does not exist;
   * `OUTBOX_PRIVILEGE_MISSING` if the broker does not allow this client to read it
   */
  redeliveryPeriodMs(addresses: readonly string[]): Promise<number>;
  /**
   * Joins the group and begins to deliver.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` if it could not join in time; `OUTBOX_ADDRESS_MISSING` if the reason is a
   * missing address, which is also passed to `disconnected` at once; or the reason of `signal`
   */
  subscribe(subscription: Subscription): Promise<Subscribed>;
}
