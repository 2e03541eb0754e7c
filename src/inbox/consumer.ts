import { OutboxError } from '../core/errors.ts';
import type { Topic } from '../core/topic.ts';
import type { Source } from '../sources/source.ts';
import type { Transaction } from '../store/database/transaction.ts';
import { undisturbed } from './consumer-event.ts';
import type { Consumer, ConsumerStatus, RunningConsumer } from './consumer-interface.ts';
import { type ConsumerRules, type ConsumerSettings, resolveConsumerRules } from './consumer-options.ts';
import { type BatchHandler, type Handler, promiseMissing, watched } from './handler.ts';
import { type HandlerOptions, resolveHandlerRules } from './handler-options.ts';
import type { ReceiptSender } from './intake/receipts.ts';
import type { Middleware } from './middleware.ts';
import type { DeadLetterSender } from './parked/dead-letters.ts';
import type { KeyDrains, ParkedKeyWorkflows } from './ports.ts';
import { type Route, routeOf, routeOfBatch } from './route.ts';
import { startConsumer } from './start-consumer.ts';
import type { TransactionClient } from './transaction-client.ts';

/** The workflows of parked keys, and the worker that runs their tries. */
export interface HostedParkedKeys {
  readonly workflows: ParkedKeyWorkflows;
  stop(): Promise<void>;
}

/** What a consumer is given from outside. */
export interface ConsumerParts<Tx extends Transaction> {
  readonly client: TransactionClient<Tx>;
  /** What knows the pool and the limits of the client. @defaultValue the client itself */
  readonly given?: object;
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
  readonly hostParkedKeys: (input: ParkedKeysPlan) => HostedParkedKeys;
}

export interface ParkedKeysPlan {
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
  /** The outermost first. */
  readonly middlewares: readonly Middleware[];
}

/** What {@link Consumer} promises. */
export class InboxConsumer<Tx extends Transaction> implements Consumer<Tx> {
  readonly #parts: ConsumerParts<Tx>;
  readonly #rules: ConsumerRules;
  readonly #routes = new Map<string, Route<Tx>>();
  readonly #middlewares: Middleware[] = [];
  #started = false;
  #running: RunningConsumer | undefined;

  constructor(parts: ConsumerParts<Tx>) {
    this.#parts = parts;
    this.#rules = resolveConsumerRules(parts.settings);
  }

  on<Input, Output>(
    topic: Topic<Input, Output>,
    handler: Handler<Tx, Output>,
    options: HandlerOptions = {},
  ): this {
    const called = watched(handler, () => this.#promiseMissing(topic.name));
    return this.#add(routeOf(topic, called, resolveHandlerRules(topic.name, options)));
  }

  onBatch<Input, Output>(
    topic: Topic<Input, Output>,
    handler: BatchHandler<Tx, Output>,
    options: HandlerOptions = {},
  ): this {
    const called = watched(handler, () => this.#promiseMissing(topic.name));
    return this.#add(routeOfBatch(topic, called, resolveHandlerRules(topic.name, options)));
  }

  use(middleware: Middleware): this {
    if (typeof middleware !== 'function') throw invalid('use', 'A middleware is a function.');
    if (this.#started)
      throw invalid('use', 'The consumer was started already: a middleware would never be called.');
    this.#middlewares.push(middleware);
    return this;
  }

  async start(): Promise<RunningConsumer> {
    if (this.#routes.size === 0) throw invalid('on', 'The consumer has no handler: name one with `on`.');
    if (this.#started) throw invalid('start', 'The consumer was started already: make another one.');
    this.#started = true;
    try {
      this.#running = await startConsumer({
        ...this.#parts,
        rules: this.#rules,
        routes: [...this.#routes.values()],
        middlewares: [...this.#middlewares],
      });
      return this.#running;
    } catch (error) {
      this.#started = false;
      throw error;
    }
  }

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

  #promiseMissing(topic: string): void {
    const error = promiseMissing(`The handler of "${topic}"`, 'counts as done, whatever it has begun', {
      topic,
    });
    undisturbed(this.#parts.settings.report)({ type: 'promise-missing', topic, error });
  }
}

function invalid(option: string, what: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', what, { details: { option } });
}
