import { OutboxError } from '../core/errors.ts';
import type { Topic } from '../core/topic.ts';
import type { Source, Subscribed } from '../sources/source.ts';
import { requireMigrated } from '../store/migrate.ts';
import { sqlOf, type Transaction } from '../store/transaction.ts';
import { undisturbed } from './consumer-event.ts';
import { type ConsumerRules, type ConsumerSettings, resolveConsumerRules } from './consumer-options.ts';
import type { FailingPartition } from './failing-partitions.ts';
import type { Handler } from './inbox-message.ts';
import { type ConsumerCounts, MessageIntake } from './message-intake.ts';
import { Receipts, type ReceiptSender } from './receipts.ts';
import { type Route, routeOf } from './route.ts';
import { Routes } from './routes.ts';
import type { TransactionClient } from './transaction-client.ts';

/** A consumer that is a member of its group. */
export interface RunningConsumer {
  /** How many messages ended how, since the start. */
  counts(): ConsumerCounts;
  /** The partitions of this consumer that stand still, each on a message that keeps failing. */
  failing(): readonly FailingPartition[];
  /** Lets the messages in hand end, tells the broker how far this consumer came, and leaves the group. */
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
}

/**
 * Handles messages with effect once: the id of a message and the handler's writes commit in one transaction, and a
 * message whose id is there already is dropped.
 *
 * Per key, messages are handled in order. A handler that fails is tried again quickly in place; then its partition
 * stays at that message, which shows in {@link RunningConsumer.failing}, and is tried again for ever, while other
 * partitions go on.
 */
export class Consumer<Tx extends Transaction> {
  readonly #parts: ConsumerParts<Tx>;
  readonly #rules: ConsumerRules;
  readonly #routes = new Map<string, Route<Tx>>();

  constructor(parts: ConsumerParts<Tx>) {
    this.#parts = parts;
    this.#rules = resolveConsumerRules(parts.settings);
  }

  /**
   * Names the handler of a topic.
   *
   * @throws OutboxError `OUTBOX_INVALID_OPTION` when the topic has one already
   */
  on<Input, Output>(topic: Topic<Input, Output>, handler: Handler<Tx, Output>): this {
    if (this.#routes.has(topic.name)) {
      throw new OutboxError('OUTBOX_INVALID_OPTION', `The topic "${topic.name}" has a handler already.`, {
        details: { option: 'on', topic: topic.name },
      });
    }
    this.#routes.set(topic.name, routeOf(topic, handler));
    return this;
  }

  /**
   * Joins the group and begins to handle messages. Once joined, a lost connection to the broker or the database is
   * waited out, however long it takes.
   *
   * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`, `OUTBOX_MIGRATION_MISSING`, `OUTBOX_SOURCE_UNKNOWN`,
   * `OUTBOX_INVALID_OPTION` when no topic has a handler
   */
  async start(): Promise<RunningConsumer> {
    const routes = [...this.#routes.values()];
    if (routes.length === 0) {
      throw new OutboxError('OUTBOX_INVALID_OPTION', 'The consumer has no handler: name one with `on`.', {
        details: { option: 'on' },
      });
    }
    const bySource = this.#bySource(routes);
    await this.#parts.client.$transaction((tx) => requireMigrated(sqlOf(tx)));
    const intakes: MessageIntake<Tx>[] = [];
    const subscribed: Subscribed[] = [];
    const stop = async (): Promise<void> => {
      await Promise.all(subscribed.map((one) => one.stop()));
      await Promise.all(intakes.map((intake) => intake.close()));
    };
    try {
      for (const [source, theirs] of bySource) {
        const intake = this.#intake(theirs);
        intakes.push(intake);
        subscribed.push(await this.#subscribe(source, theirs, intake));
      }
    } catch (error) {
      await stop();
      throw error;
    }
    return {
      counts: () => sum(intakes.map((intake) => intake.counts())),
      failing: () => intakes.flatMap((intake) => intake.failing()),
      stop,
    };
  }

  #bySource(routes: readonly Route<Tx>[]): ReadonlyMap<Source, readonly Route<Tx>[]> {
    const groups = new Map<Source, Route<Tx>[]>();
    for (const route of routes) {
      const source = this.#parts.sourceOf(route.topic);
      groups.set(source, [...(groups.get(source) ?? []), route]);
    }
    return groups;
  }

  #intake(routes: readonly Route<Tx>[]): MessageIntake<Tx> {
    const { client, settings, topics } = this.#parts;
    const { group, quickRetriesMs, transactionTimeoutMs } = this.#rules;
    const report = undisturbed(settings.report);
    const confirming = routes.find(({ topic }) => topic.rules.confirm?.group === group);
    return new MessageIntake({
      client,
      group,
      routes: new Routes(routes, topics),
      quickRetriesMs,
      transactionTimeoutMs,
      report,
      receipts:
        confirming && new Receipts({ group, sender: this.#parts.receiptSenderOf(confirming.topic), report }),
    });
  }

  #subscribe(source: Source, routes: readonly Route<Tx>[], intake: MessageIntake<Tx>): Promise<Subscribed> {
    const { concurrency, fromBeginning, group, startWithinMs } = this.#rules;
    const report = undisturbed(this.#parts.settings.report);
    return source.subscribe({
      addresses: [...new Set(routes.map(({ topic }) => topic.rules.address))],
      group,
      concurrency,
      fromBeginning,
      joinWithinMs: startWithinMs,
      handle: (batch) => intake.handle(batch),
      assigned: (partitions) => intake.assigned(partitions),
      disconnected: (error, retryInMs) => report({ type: 'disconnected', error, retryInMs }),
    });
  }
}

function sum(counts: readonly ConsumerCounts[]): ConsumerCounts {
  const total = { handled: 0, duplicates: 0, ignored: 0, failures: 0 };
  for (const one of counts) {
    total.handled += one.handled;
    total.duplicates += one.duplicates;
    total.ignored += one.ignored;
    total.failures += one.failures;
  }
  return total;
}
