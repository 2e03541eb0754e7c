import type { Health } from '../core/health.ts';
import type { StopOptions } from '../core/running.ts';
import type { Topic } from '../core/topic.ts';
import type { Lag } from '../sources/source.ts';
import type { KeptCounts } from '../store/inbox/kept-counts.ts';
import type { ConsumerCounts } from './consumer-counts.ts';
import type { PausedAddress } from './consumer-event.ts';
import type { BatchHandler, Handler } from './handler.ts';
import type { HandlerOptions } from './handler-options.ts';
import type { FailingPartition } from './intake/failing-partitions.ts';
import type { Middleware } from './middleware.ts';

/** What a consumer has done, and what its group has before it. */
export interface ConsumerStatus extends ConsumerCounts, KeptCounts {
  /** Messages that were fetched and have not ended; of this consumer, as all of {@link ConsumerCounts}. */
  readonly inFlight: number;
  /** Messages that the group has not acknowledged yet; `null` when the broker cannot be asked. */
  readonly lag: number | null;
  /** The same by partition, of every address of this consumer's topics; empty when the broker cannot be asked. */
  readonly partitions: readonly Lag[];
  /** The partitions of this consumer that stand still, each on a message that can neither be handled nor kept for now. */
  readonly failing: readonly FailingPartition[];
  /** The addresses that pause in this consumer, because most of their keys fail. */
  readonly paused: readonly PausedAddress[];
}

/** A consumer that is a member of its group. */
export interface RunningConsumer {
  /** How many messages ended how in this consumer, since its start. */
  counts(): ConsumerCounts;
  /** The partitions of this consumer that stand still, each on a message that can neither be handled nor kept. */
  failing(): readonly FailingPartition[];
  /** The addresses that pause in this consumer, because most of their keys fail. */
  paused(): readonly PausedAddress[];
  /** How it is, answered at once from what this process knows. */
  health(): Health;
  /** As {@link Consumer.status}. */
  status(): Promise<ConsumerStatus>;
  /** Resolves when the consumer has ended, which it does by {@link RunningConsumer.stop} alone. Does not reject. */
  readonly done: Promise<void>;
  /**
   * Lets the messages in hand end, tells the broker how far this consumer came, and leaves the group. With no message in hand
   * it does not wait for a server that it knows to be away.
   *
   * After `within` their transactions are given up: the signal of their handlers fires, and half a second later nobody waits
   * for those that go on. Such a message costs no try, and is handled by another consumer or the next start.
   *
   * A second call ends with the first one, and may give it less time.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` for another `within`, before anything is stopped
   */
  stop(options?: StopOptions): Promise<void>;
}

/**
 * Handles messages with effect once: the id of a message and the handler's writes commit in one transaction, and a
 * message whose id is there already is dropped. Made by `consumer(…)`.
 *
 * Per topic and key, messages are handled in order. A handler that fails is tried again quickly in place; then the
 * message is parked: kept in the database and tried again later by its workflow, while those of its key queue behind
 * it and those of other keys go on. A message that cannot be read, and one whose tries are used up, is failed: kept for a
 * person, who can retry, edit or discard it.
 *
 * @typeParam Tx what the client's transactions offer
 */
export interface Consumer<Tx> {
  /**
   * Names the handler of a topic.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` when the topic has one already, for an option that is none or out of its
   * range, and after {@link Consumer.start}
   */
  on<Input, Output>(
    topic: Topic<Input, Output>,
    handler: Handler<Tx, Output>,
    options?: HandlerOptions,
  ): this;
  /**
   * Names the handler of a topic that takes all its messages of one transaction at once, in their order. With
   * `batch: { size }` these are many; a single one where a batch has failed, and as a rule of a parked key.
   *
   * @throws OutboxError as {@link Consumer.on}
   */
  onBatch<Input, Output>(
    topic: Topic<Input, Output>,
    handler: BatchHandler<Tx, Output>,
    options?: HandlerOptions,
  ): this;
  /**
   * Puts a middleware around every transaction in which handlers run, those of parked messages included. The first one is
   * the outermost. Not around the transactions of the consumer itself, which keep messages.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` for what is no function, and after {@link Consumer.start}
   */
  use(middleware: Middleware): this;
  /**
   * Joins the group and begins to handle messages. Once joined, a lost connection to the broker or the database is
   * waited out, however long it takes; before, as long as `startTimeout` says. A consumer starts once; one that was stopped is
   * done. After a start that failed it may be started again.
   *
   * @throws OutboxError `OUTBOX_STOPPED` when it was stopped before it had joined; `OUTBOX_SERVER_UNAVAILABLE` and
   * `OUTBOX_ADDRESS_MISSING` after `startTimeout`, `OUTBOX_SERVER_REFUSED`, `OUTBOX_MIGRATION_MISSING`, `OUTBOX_SOURCE_UNKNOWN`, `OUTBOX_WINDOW_TOO_SHORT`, `OUTBOX_EPOCH_UNKNOWN`,
   * `OUTBOX_OPTION_INVALID` when no topic has a handler or it was started before
   */
  start(): Promise<RunningConsumer>;
  /**
   * As {@link RunningConsumer.stop}, and ends a start, too, within a second, whatever that waits for. Before the start it does
   * nothing.
   */
  stop(options?: StopOptions): Promise<void>;
  /** As {@link RunningConsumer.health}, and while it starts. */
  health(): Health;
  /**
   * What this consumer has done since its start, and what its group has before it. It asks the database and the broker.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` before it was started; and what the database throws when it is away
   */
  status(): Promise<ConsumerStatus>;
}
