import type { Lag } from '../brokers/source.ts';
import type { Health } from '../core/health.ts';
import type { StopOptions } from '../core/running.ts';
import type { Topic } from '../core/topic.ts';
import type { KeptCounts } from '../store/inbox/kept-counts.ts';
import type { ConsumerCounts } from './consumer-counts.ts';
import type { PausedAddress } from './consumer-event.ts';
import type { BatchHandler, Handler } from './handler.ts';
import type { HandlerOptions } from './handler-options.ts';
import type { FailingPartition } from './intake/failing-partitions.ts';
import type { Middleware } from './middleware.ts';

/** What a consumer has done, and the backlog of its group. */
export interface ConsumerStatus extends ConsumerCounts, KeptCounts {
  /** Messages that were fetched and have not ended, in this consumer, like all of {@link ConsumerCounts}. */
  readonly inFlight: number;
  /** Messages that the group has not acknowledged yet; `null` when the broker cannot be reached. */
  readonly lag: number | null;
  /** The lag by partition, of every address of this consumer's topics; empty when the broker cannot be reached. */
  readonly partitions: readonly Lag[];
  /** The partitions of this consumer that are blocked, each by a message that can currently neither be handled nor kept. */
  readonly failing: readonly FailingPartition[];
  /** The addresses that this consumer has paused, because most of their keys fail. */
  readonly paused: readonly PausedAddress[];
}

/** A consumer that is a member of its group. */
export interface RunningConsumer {
  /** Counts of messages by how they ended in this consumer, since its start. */
  counts(): ConsumerCounts;
  /** The partitions of this consumer that are blocked, each by a message that can neither be handled nor kept. */
  failing(): readonly FailingPartition[];
  /** The addresses that this consumer has paused, because most of their keys fail. */
  paused(): readonly PausedAddress[];
  /** Its health, answered at once from what this process knows. */
  health(): Health;
  /** As {@link Consumer.status}. */
  status(): Promise<ConsumerStatus>;
  /** Resolves when the consumer has ended, which only {@link RunningConsumer.stop} causes. Does not reject. */
  readonly done: Promise<void>;
  /**
   * Finishes the messages in hand, commits offsets, and leaves the group. With no message in hand it does not wait for a
   * server that is known to be unreachable.
   *
   * After `timeout` the transactions in hand are given up: the signal of their handlers fires, and half a second later `stop`
   * no longer waits for them. Such a message costs no try, and is handled by another consumer or after the next start.
   *
   * A second call ends with the first one, and may give it less time.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` for an invalid `timeout`, before anything is stopped
   */
  stop(options?: StopOptions): Promise<void>;
}

/**
 * Handles messages with effect once: the id of a message and the handler's writes commit in one transaction, and a
 * message whose id is already stored is dropped. Created by `consumer(…)`.
 *
 * Per topic and key, messages are handled in order. A handler that fails is tried again quickly in place; then the
 * message is parked: kept in the database and tried again later by its workflow. Later messages of its key queue behind
 * it, other keys go on. A message that cannot be read, or whose tries are used up, is failed: kept for a person, who can
 * retry, edit or discard it.
 *
 * @typeParam Tx the type of the client's transactions
 */
export interface Consumer<Tx> {
  /**
   * Registers the handler of a topic.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` when the topic already has one, for an option that is unknown or out of
   * range, and after {@link Consumer.start}
   */
  on<Input, Output>(
    topic: Topic<Input, Output>,
    handler: Handler<Tx, Output>,
    options?: HandlerOptions,
  ): this;
  /**
   * Registers a handler that takes all messages of a topic in one transaction at once, in order. With `batch`
   * there are many; after a batch has failed, and usually for a parked key, there is one.
   *
   * @throws OutboxError as {@link Consumer.on}
   */
  onBatch<Input, Output>(
    topic: Topic<Input, Output>,
    handler: BatchHandler<Tx, Output>,
    options?: HandlerOptions,
  ): this;
  /**
   * Wraps every transaction in which handlers run, including those of parked messages. The first middleware is the
   * outermost. The consumer's own transactions, which keep messages, are not wrapped.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` if it is not a function, and after {@link Consumer.start}
   */
  use(middleware: Middleware): this;
  /**
   * Joins the group and begins to handle messages. Once it has joined, it reconnects to the broker and the database for as
   * long as it takes; before that, for `startTimeout`. A consumer starts once and cannot be restarted after a stop. After a
   * start that failed it may be started again.
   *
   * @throws OutboxError `OUTBOX_STOPPED` when it was stopped before it had joined; `OUTBOX_SERVER_UNAVAILABLE` and
   * `OUTBOX_ADDRESS_MISSING` after `startTimeout`, `OUTBOX_SERVER_REFUSED`, `OUTBOX_MIGRATION_MISSING`, `OUTBOX_SOURCE_UNKNOWN`, `OUTBOX_WINDOW_TOO_SHORT`, `OUTBOX_EPOCH_UNKNOWN`,
   * `OUTBOX_OPTION_INVALID` when no topic has a handler or it was started before
   */
  start(): Promise<RunningConsumer>;
  /**
   * Like {@link RunningConsumer.stop}; also ends a start within a second, whatever the start waits for. Before the start it
   * does nothing.
   */
  stop(options?: StopOptions): Promise<void>;
  /** Like {@link RunningConsumer.health}, also while it starts. */
  health(): Health;
  /**
   * What this consumer has done since its start, and the backlog of its group. Queries the database and the broker.
   *
   * @throws OutboxError `OUTBOX_OPTION_INVALID` before it was started; and the database's error when it cannot be reached
   */
  status(): Promise<ConsumerStatus>;
}
