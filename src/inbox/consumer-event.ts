import type { Partition, SourceNotice } from '../brokers/source.ts';
import type { OutboxError } from '../core/errors.ts';

/** Where a message was read from. */
export interface Position extends Partition {
  /** Its offset in the partition. A string, because it may need 64 bits. */
  readonly offset: string;
}

/** An address of which only occasional probes are tried, because most of its keys have failed. */
export interface PausedAddress {
  /** Where its messages arrive. */
  readonly address: string;
  /** When the pause began. */
  readonly since: Date;
  /** The error of the last try. */
  readonly error: unknown;
  /** Its text, without values of the message's payload, as `status` shows it: at most 400 characters. */
  readonly errorText: string;
  /** How many of `keys` had failed when the pause began. */
  readonly failedKeys: number;
  /** Number of different keys among the last messages that ended. */
  readonly keys: number;
  /** How many probes have failed. */
  readonly probes: number;
  /** When the next probe is due, by the clock of this process. */
  readonly nextProbeAt: Date;
}

/** A message whose id could be read. */
export interface IdentifiedMessage extends Position {
  /** As its handler gets it; its position if it has no id. */
  readonly id: string;
  /** Name of its topic, if it names one; else its address. */
  readonly topic: string;
}

/** A message whose key is known. */
export interface KeyedMessage extends IdentifiedMessage {
  /** As `inbox list` shows it: one that is too long is cut. `null` if it has none. */
  readonly key: string | null;
}

/**
 * What a consumer reports. Nothing depends on a listener. `error` is what was thrown, `retryInMs` the milliseconds until
 * the next try, `attempt` the number of the try, from 1, as far as this process knows.
 */
export type ConsumerEvent =
  /** It is starting, and cannot reach a server that it needs. Reported at once, then at most every five seconds. */
  | {
      readonly type: 'waiting-for-server';
      /** `PostgreSQL`, or the kind of the broker. */
      readonly server: string;
      /** Names the address, as far as the client reports it. */
      readonly error: unknown;
    }
  /** The consumer now owns these partitions, and no others. */
  | { readonly type: 'assigned'; readonly partitions: readonly Partition[] }
  /** The source delivers nothing; it is tried again. `server` is its name, such as `kafka`. Reported with each try. */
  | {
      readonly type: 'disconnected';
      readonly server: string;
      readonly error: unknown;
      readonly retryInMs: number;
    }
  /** After `disconnected`: the source delivers again. `server` is its name, such as `kafka`. Reported once. */
  | { readonly type: 'connection-resumed'; readonly server: string; readonly since: Date }
  /** Partitions that nobody reads, and messages that the broker deleted before they were read. */
  | SourceNotice
  /** Its effects are committed. */
  | ({ readonly type: 'handled'; readonly attempt: number } & IdentifiedMessage)
  /** Its effects were already committed; it was dropped. */
  | ({ readonly type: 'duplicate' } & IdentifiedMessage)
  /** The time of its `ce_expirytime` had passed, by this process's clock: its id is stored, and its handler was not called. */
  | ({ readonly type: 'expired' } & IdentifiedMessage)
  /** Its topic shares the address and has no handler here; it was skipped. */
  | ({ readonly type: 'ignored' } & IdentifiedMessage)
  /** It was kept, because its tries failed (`error` is the last one), or because its key is parked. */
  | ({ readonly type: 'parked'; readonly error: unknown } & KeyedMessage)
  /**
   * It failed for good, after its last try or because retrying cannot help, and is kept for a person. `reason` is the one
   * that `inbox show` prints. Of a message that killed its consumer only the id is known.
   */
  | ({ readonly type: 'failed'; readonly reason: string; readonly error: unknown } & Pick<
      IdentifiedMessage,
      'id'
    > &
      Partial<KeyedMessage>)
  /**
   * Temporal does not answer or refuses, or the consumer's workers fail: parked messages are tried by the consumers
   * themselves, bulk operations on kept messages wait. Reported once, until `workflows-resumed`.
   */
  | { readonly type: 'workflows-failing'; readonly error: unknown }
  /** Temporal answers again. */
  | { readonly type: 'workflows-resumed'; readonly since: Date }
  /** The database did not answer to a look at the parked keys, or to a try of one; it is tried again. */
  | { readonly type: 'parked-failing'; readonly error: unknown; readonly retryInMs: number }
  /** An operator's bulk operation on messages that the group keeps has ended: number of messages by result. */
  | { readonly type: 'bulk-ended'; readonly id: string; readonly counts: Readonly<Record<string, number>> }
  /** A page of a bulk operation failed; it is tried again, at most ten times in a row. */
  | { readonly type: 'bulk-failing'; readonly error: unknown }
  /** Expired processed ids could not be dropped; it is tried again. */
  | { readonly type: 'window-failing'; readonly error: unknown; readonly retryInMs: number }
  /** Copies of failed messages could not be sent to the address of dead letters; it is tried again. */
  | { readonly type: 'dead-letters-failing'; readonly error: unknown; readonly retryInMs: number }
  /**
   * A try was rolled back; another follows, or the message is parked. For a transaction of several messages the position is
   * that of the first one, whichever has failed, and there is no `id`, `topic` or `key`: next they are tried one by one.
   */
  | ({ readonly type: 'attempt-failed'; readonly attempt: number; readonly error: unknown } & Position &
      Partial<KeyedMessage>)
  /**
   * The message can neither be handled nor kept, or the queue of its key is full (`OUTBOX_QUEUE_FULL`): its partition waits,
   * others go on. Reported again at every pause.
   */
  | ({
      readonly type: 'partition-paused';
      readonly attempt: number;
      readonly error: unknown;
      readonly retryInMs: number;
    } & Position)
  /**
   * Receipts could not be sent. They wait; beyond 10,000 the oldest are dropped, whose messages will be resent and then
   * answered with a new receipt. Handling goes on.
   */
  | {
      readonly type: 'receipts-unsent';
      readonly waiting: number;
      readonly dropped: number;
      readonly error: unknown;
      readonly retryInMs: number;
    }
  /**
   * Most keys of the address fail, as they do when a dependency of its handlers is down: until a probe succeeds, none of its
   * messages is tried or parked, and no try counts. Reported again after each probe that fails.
   */
  | ({ readonly type: 'address-paused' } & PausedAddress)
  /** A probe has succeeded. */
  | { readonly type: 'address-resumed'; readonly address: string; readonly since: Date }
  /**
   * At the start: the client's pool has fewer connections than messages in hand, parked keys and the consumer itself may
   * use at once. A transaction that waits 30 s for a connection fails, which costs no try. Raise the pool to `needed` (`max` of
   * `PrismaPg`), or lower `concurrency`, `keyConcurrency` or `parkedConcurrency`.
   */
  | { readonly type: 'pool-small'; readonly connections: number; readonly needed: number }
  /**
   * The handler of the topic did not return a promise (`OUTBOX_PROMISE_MISSING`): its message counts as done, whatever the
   * handler has begun. Reported once per handler.
   */
  | { readonly type: 'promise-missing'; readonly topic: string; readonly error: OutboxError }
  /** The message that blocked the partition is done. */
  | ({ readonly type: 'partition-resumed' } & Position);

/** Called with each event of a consumer, synchronously and in order; what it throws is dropped. It should not take long. */
export type ConsumerReport = (event: ConsumerEvent) => void;

/** A listener that cannot disturb the consumer: what it throws is dropped. */
export function undisturbed(report: ConsumerReport | undefined): ConsumerReport {
  if (report === undefined) return () => undefined;
  return (event) => {
    try {
      report(event);
    } catch {
      // A faulty listener must neither fail a message that is committed nor stop a partition.
    }
  };
}
