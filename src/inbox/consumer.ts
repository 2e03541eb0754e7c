import { OutboxError } from '../core/errors.ts';
import type { Topic } from '../core/topic.ts';
import type { Lag, Source } from '../sources/source.ts';
import type { KeptCounts } from '../store/inbox/kept-counts.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ConsumerCounts } from './consumer-counts.ts';
import type { PausedAddress } from './consumer-event.ts';
import { type ConsumerRules, type ConsumerSettings, resolveConsumerRules } from './consumer-options.ts';
import type { DeadLetterSender } from './dead-letters.ts';
import type { FailingPartition } from './failing-partitions.ts';
import type { BatchHandler, Handler } from './inbox-message.ts';
import type { KeyDrains, KeyWorkflows } from './ports.ts';
import type { ReceiptSender } from './receipts.ts';
import { type Route, routeOf, routeOfBatch, type RouteOptions } from './route.ts';
import { startConsumer } from './start-consumer.ts';
import type { TransactionClient } from './transaction-client.ts';

/** What a consumer has done, and what its group has before it. */
export interface ConsumerStatus extends ConsumerCounts, KeptCounts {
  /** Of this consumer, as all of {@link ConsumerCounts}; the figures of the group are `parked`, `parkedKeys` and `failed`. */
  readonly inFlight: number;
  /** Messages that the group has not acknowledged yet; `null` when the broker cannot be asked. */
  readonly lag: number | null;
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
  /** As {@link Consumer.status}. */
  status(): Promise<ConsumerStatus>;
  /** Lets the messages in hand end, tells the broker how far this consumer came, and leaves the group. May be repeated. */
  stop(): Promise<void>;
}

/** The workflows of parked keys, and the worker that runs their tries. */
export interface HostedKeys {
  readonly workflows: KeyWorkflows;
  stop(): Promise<void>;
}

/** What a consumer is given from outside. */
export interface ConsumerParts<Tx extends Transaction> {
  readonly client: TransactionClient<Tx>;
  readonly settings: ConsumerSettings;
  /** All topics of the configuration, so that those of others are known for what they are. */
  readonly topics: readonly Topic[];
  /** Where messages of a topic arrive: the same object for topics of the same broker. */
  readonly sourceOf: (topic: Topic) => Source;
  /** How receipts of a topic leave. */
  readonly receiptSenderOf: (topic: Topic) => ReceiptSender;
  /** How copies of failed messages leave, to the broker of these topics. */
  readonly deadLetterSenderOf: (topics: readonly Topic[]) => DeadLetterSender;
  /** Where it runs, for those who look. */
  readonly place: { readonly host: string; readonly pid: number };
  /** Needs nothing until the first key is parked. */
  readonly hostKeys: (input: HostedKeysInput) => HostedKeys;
}

export interface HostedKeysInput {
  readonly installation: string;
  readonly group: string;
  readonly drains: KeyDrains;
  /** Keys that are worked on side by side. */
  readonly concurrency: number;
  readonly failed: (error: unknown) => void;
}

/** A consumer's handlers and rules. */
export interface ConsumerPlan<Tx extends Transaction> extends ConsumerParts<Tx> {
  readonly rules: ConsumerRules;
  readonly routes: readonly Route<Tx>[];
}

/**
 * Handles messages with effect once: the id of a message and the handler's writes commit in one transaction, and a
 * message whose id is there already is dropped.
 *
 * Per topic and key, messages are handled in order. A handler that fails is tried again quickly in place; then the
 * message is parked: kept in the database and tried again later by its workflow, while those of its key queue behind
 * it and those of other keys go on. A message that cannot be read, and one whose tries are used up, is failed: kept for a
 * person, who can retry, edit or discard it.
 */
export class Consumer<Tx extends Transaction> {
  readonly #parts: ConsumerParts<Tx>;
  readonly #rules: ConsumerRules;
  readonly #routes = new Map<string, Route<Tx>>();
  #started = false;
  #running: RunningConsumer | undefined;

  constructor(parts: ConsumerParts<Tx>) {
    this.#parts = parts;
    this.#rules = resolveConsumerRules(parts.settings);
  }

  /**
   * Names the handler of a topic.
   *
   * @throws OutboxError `OUTBOX_INVALID_OPTION` when the topic has one already, for a rule of ids that is none, and after
   * {@link Consumer.start}
   */
  on<Input, Output>(
    topic: Topic<Input, Output>,
    handler: Handler<Tx, Output>,
    options: RouteOptions = {},
  ): this {
    return this.#add(routeOf(topic, handler, known(options)));
  }

  /**
   * Names the handler of a topic that takes all its messages of one transaction at once, in their order. With
   * `batch: { size }` these are many; a single one where a batch has failed, and of a parked key.
   *
   * @throws OutboxError `OUTBOX_INVALID_OPTION` when the topic has a handler already, for a rule of ids that is none, and
   * after {@link Consumer.start}
   */
  onBatch<Input, Output>(
    topic: Topic<Input, Output>,
    handler: BatchHandler<Tx, Output>,
    options: RouteOptions = {},
  ): this {
    return this.#add(routeOfBatch(topic, handler, known(options)));
  }

  /**
   * Joins the group and begins to handle messages. Once joined, a lost connection to the broker or the database is
   * waited out, however long it takes. A consumer starts once; one that was stopped is done.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`, `OUTBOX_ADDRESS_MISSING`, `OUTBOX_MIGRATION_MISSING`,
   * `OUTBOX_SOURCE_UNKNOWN`, `OUTBOX_WINDOW_TOO_SHORT`, `OUTBOX_EPOCH_UNKNOWN`, `OUTBOX_INVALID_OPTION` when no topic has a handler or it was started before
   */
  async start(): Promise<RunningConsumer> {
    if (this.#routes.size === 0) throw invalid('on', 'The consumer has no handler: name one with `on`.');
    if (this.#started) throw invalid('start', 'The consumer was started already: make another one.');
    this.#started = true;
    try {
      this.#running = await startConsumer({
        ...this.#parts,
        rules: this.#rules,
        routes: [...this.#routes.values()],
      });
      return this.#running;
    } catch (error) {
      this.#started = false;
      throw error;
    }
  }

  /**
   * What this consumer has done since its start, and what its group has before it.
   *
   * @throws OutboxError `OUTBOX_INVALID_OPTION` before it was started; and what the database throws when it is away
   */
  async status(): Promise<ConsumerStatus> {
    if (this.#running === undefined) throw invalid('status', 'The consumer was not started.');
    return this.#running.status();
  }

  #add(route: Route<Tx>): this {
    const { name } = route.topic;
    if (this.#started)
      throw invalid('on', `The consumer was started already: a handler of "${name}" would never be called.`);
    if (this.#routes.has(name)) throw invalid('on', `The topic "${name}" has a handler already.`);
    this.#routes.set(name, route);
    return this;
  }
}

/** A misspelt option would be a rule that does nothing. */
function known(options: RouteOptions): RouteOptions {
  const unknown = Object.keys(options).find((option) => option !== 'id');
  if (unknown === undefined) return options;
  throw invalid(unknown, `"${unknown}" is no option of a handler.`);
}

function invalid(option: string, what: string): OutboxError {
  return new OutboxError('OUTBOX_INVALID_OPTION', what, { details: { option } });
}
