import type { OutboxError } from '../core/errors.ts';
import type { Partition, SourceNotice } from '../sources/source.ts';

/** Where a message was found. */
export interface Position extends Partition {
  /** Its place in the partition. Text, because it may need 64 bits. */
  readonly offset: string;
}

/** An address of which nothing is begun but a probe now and then, because most of what was tried has failed. */
export interface PausedAddress {
  /** Where its messages arrive. */
  readonly address: string;
  /** When the pause began. */
  readonly since: Date;
  /** What the last try ended with. */
  readonly error: unknown;
  /** What it says, without values of the message's payload, as `status` shows it: 400 characters at most. */
  readonly errorText: string;
  /** Of `keys` that were looked at, so many had failed when the pause began. */
  readonly failedKeys: number;
  /** The keys of the last messages that ended, each counted once. */
  readonly keys: number;
  /** How many probes have failed. */
  readonly probes: number;
  /** When the next probe is due, by the clock of this process. */
  readonly nextProbeAt: Date;
}

/** A message that is known by its id. */
export interface IdentifiedMessage extends Position {
  /** As its handler gets it; its place where nothing tells an id. */
  readonly id: string;
  /** Name of its topic, as far as it tells one; else its address. */
  readonly topic: string;
}

/**
 * What a consumer tells about itself. Nothing depends on anybody listening. `error` is what was thrown, `retryInMs` the
 * milliseconds until the next try, `attempt` the number of the try, from 1, as far as this process knows.
 */
export type ConsumerEvent =
  /** It starts, and a server that it needs is not there yet. Told at once, and then every five seconds at most. */
  | {
      readonly type: 'waiting-for-server';
      /** `PostgreSQL`, or the kind of the broker. */
      readonly server: string;
      /** Names the address, as far as its client tells. */
      readonly error: unknown;
    }
  /** These partitions are this consumer's from now on, and no others. */
  | { readonly type: 'assigned'; readonly partitions: readonly Partition[] }
  /** Nothing, or nothing more, arrives from where the error says; it is tried again. */
  | { readonly type: 'disconnected'; readonly error: unknown; readonly retryInMs: number }
  /** Partitions that nobody reads, and messages that the broker deleted before they were read. */
  | SourceNotice
  /** Its effects are committed. */
  | ({ readonly type: 'handled'; readonly attempt: number } & IdentifiedMessage)
  /** Its effects were committed before; it was dropped. */
  | ({ readonly type: 'duplicate' } & IdentifiedMessage)
  /** Of a topic that shares the address and has no handler here; it was passed over. */
  | ({ readonly type: 'ignored' } & IdentifiedMessage)
  /** It was kept, because its tries failed (then with the last error), or because its key is parked. */
  | ({ readonly type: 'parked'; readonly error: unknown } & IdentifiedMessage)
  /**
   * It failed for good, after its last try or because none can help, and is kept for a person. `reason` is that of `inbox show`.
   * Of one that has killed the consumer that tried it, only the id is known.
   */
  | ({ readonly type: 'failed'; readonly reason: string; readonly error: unknown } & Pick<
      IdentifiedMessage,
      'id'
    > &
      Partial<IdentifiedMessage>)
  /** Workflows of parked keys, or of bulk operations, could not be started, or ran into trouble; their messages wait. */
  | { readonly type: 'workflows-failing'; readonly error: unknown }
  /** A bulk operation of an operator on what the group keeps has come to its end: how many messages had which answer. */
  | { readonly type: 'bulk-ended'; readonly id: string; readonly counts: Readonly<Record<string, number>> }
  /** A page of a bulk operation failed; it is tried again, ten times in a row at most. */
  | { readonly type: 'bulk-failing'; readonly error: unknown }
  /** The processed ids could not be tended; it is tried again. */
  | { readonly type: 'window-failing'; readonly error: unknown; readonly retryInMs: number }
  /** Copies of failed messages could not be sent to the address of dead letters; it is tried again. */
  | { readonly type: 'dead-letters-failing'; readonly error: unknown; readonly retryInMs: number }
  /**
   * A try was rolled back; another follows, or the message is parked. Of a transaction of several messages it tells where
   * the first of them is, whichever of them has failed: they are tried singly next.
   */
  | ({ readonly type: 'attempt-failed'; readonly attempt: number; readonly error: unknown } & Position)
  /**
   * The message can neither be handled nor kept, or its key has as many behind it as it may (`OUTBOX_QUEUE_FULL`): its
   * partition waits, others go on. Told again at every pause.
   */
  | ({
      readonly type: 'partition-paused';
      readonly attempt: number;
      readonly error: unknown;
      readonly retryInMs: number;
    } & Position)
  /**
   * Receipts could not be sent. They wait, beyond 10,000 the oldest are dropped; their messages are sent again then, and
   * the receipts with them. Messages go on meanwhile.
   */
  | {
      readonly type: 'receipts-unsent';
      readonly waiting: number;
      readonly dropped: number;
      readonly error: unknown;
      readonly retryInMs: number;
    }
  /**
   * Most keys of the address fail, as they do when something is away that its handlers need: nothing of it is begun, parked
   * or counted until a probe succeeds. Told again after each probe that fails.
   */
  | ({ readonly type: 'address-paused' } & PausedAddress)
  /** A probe has succeeded. */
  | { readonly type: 'address-resumed'; readonly address: string; readonly since: Date }
  /**
   * At the start: the pool of the client has fewer connections than the messages that may be in hand, and parked keys, and
   * the consumer itself take. What waits for one for 30 s fails, uncounted. Give the client as many as are needed
   * (`max` of `PrismaPg`), or lower `concurrency`, `keyConcurrency` or `parkedConcurrency`.
   */
  | { readonly type: 'pool-small'; readonly connections: number; readonly needed: number }
  /**
   * The handler of the topic has answered no promise (`OUTBOX_PROMISE_MISSING`): its message counts as done, whatever it has
   * begun. Told once per handler.
   */
  | { readonly type: 'promise-missing'; readonly topic: string; readonly error: OutboxError }
  /** The message on which the partition stood is done. */
  | ({ readonly type: 'partition-resumed' } & Position);

/** Is called with what a consumer tells, at once and in its order; what it throws is dropped. It should not take long. */
export type ConsumerReport = (event: ConsumerEvent) => void;

/** A listener that cannot disturb the consumer: what it throws is dropped. */
export function undisturbed(report: ConsumerReport | undefined): ConsumerReport {
  if (report === undefined) return () => undefined;
  return (event) => {
    try {
      report(event);
    } catch {
      // A broken listener must neither fail a message that is committed nor stop a partition.
    }
  };
}
