import { OutboxError } from '../core/errors.ts';
import { type Health, HealthRecord } from '../core/health.ts';
import { Running, type StopOptions } from '../core/running.ts';
import { assertTopic, type Topic } from '../core/topic.ts';
import type { Transaction } from '../store/database/transaction.ts';
import { undisturbed } from './consumer-event.ts';
import type { Consumer, ConsumerStatus, RunningConsumer } from './consumer-interface.ts';
import { type ConsumerRules, resolveConsumerRules } from './consumer-options.ts';
import type { ConsumerParts } from './consumer-plan.ts';
import { type BatchHandler, type Handler, promiseMissing, watched } from './handler.ts';
import { type HandlerOptions, resolveHandlerRules } from './handler-options.ts';
import type { Middleware } from './middleware.ts';
import { type Route, type RouteRules, routeOf, routeOfBatch } from './route.ts';
import { startConsumer } from './start-consumer.ts';

const notStarted: Health = { state: 'stopped', joined: false, lastProgressAt: null, failing: [] };

/** Implements {@link Consumer}. */
export class InboxConsumer<Tx extends Transaction> implements Consumer<Tx> {
  readonly #parts: ConsumerParts<Tx>;
  readonly #rules: ConsumerRules;
  readonly #routes = new Map<string, Route<Tx>>();
  readonly #middlewares: Middleware[] = [];
  #started = false;
  #running: RunningConsumer | undefined;
  /** Of the last start. */
  #life: Running | undefined;

  constructor(parts: ConsumerParts<Tx>) {
    this.#parts = parts;
    this.#rules = resolveConsumerRules(parts.settings);
  }

  on<Input, Output>(
    topic: Topic<Input, Output>,
    handler: Handler<Tx, Output>,
    options: HandlerOptions = {},
  ): this {
    const called = this.#called('on', topic, handler);
    return this.#add(routeOf(topic, called, this.#rulesOf(topic, options)));
  }

  onBatch<Input, Output>(
    topic: Topic<Input, Output>,
    handler: BatchHandler<Tx, Output>,
    options: HandlerOptions = {},
  ): this {
    const called = this.#called('onBatch', topic, handler);
    return this.#add(routeOfBatch(topic, called, this.#rulesOf(topic, options)));
  }

  use(middleware: Middleware): this {
    if (typeof middleware !== 'function') throw invalid('use', 'A middleware is a function.');
    if (this.#started)
      throw invalid('use', 'The consumer has already been started: a middleware would never be called.');
    this.#middlewares.push(middleware);
    return this;
  }

  async start(): Promise<RunningConsumer> {
    if (this.#routes.size === 0) throw invalid('on', 'The consumer has no handler: register one with `on`.');
    if (this.#started) throw invalid('start', 'The consumer has already been started: create another one.');
    this.#started = true;
    const life = new Running(new HealthRecord());
    this.#life = life;
    const plan = {
      ...this.#parts,
      rules: this.#rules,
      routes: [...this.#routes.values()],
      middlewares: [...this.#middlewares],
    };
    try {
      this.#running = await startConsumer(plan, life);
      return this.#running;
    } catch (error) {
      this.#started = false;
      throw error;
    }
  }

  health(): Health {
    return this.#life?.health.read() ?? notStarted;
  }

  async stop(options?: StopOptions): Promise<void> {
    await this.#life?.stop(options);
  }

  async status(): Promise<ConsumerStatus> {
    if (this.#running === undefined) throw invalid('status', 'The consumer has not been started.');
    return this.#running.status();
  }

  /** The handler as it is called; it and its topic are checked now, not at the first message. */
  #called<Arguments extends readonly unknown[]>(
    caller: 'on' | 'onBatch',
    topic: { readonly name: string },
    handler: (...given: Arguments) => unknown,
  ): (...given: Arguments) => unknown {
    assertTopic(caller, topic);
    if (!this.#parts.topics.some(({ name }) => name === topic.name))
      throw invalid(
        caller,
        `The topic "${topic.name}" is not in \`topics\` of the consumer's configuration.`,
      );
    if (typeof handler !== 'function')
      throw invalid(caller, `The handler of "${topic.name}" is not a function.`);
    return watched(handler, () => this.#promiseMissing(topic.name));
  }

  #rulesOf(topic: Topic, options: HandlerOptions): RouteRules {
    const { group } = this.#rules;
    // Asked at the first message: a topic without a source is refused by the start.
    return {
      ...resolveHandlerRules(topic.name, options),
      group,
      system: () => this.#parts.sourceOf(topic).name,
    };
  }

  #add(route: Route<Tx>): this {
    const { name } = route.topic;
    if (this.#started)
      throw invalid(
        'on',
        `The consumer has already been started: a handler of "${name}" would never be called.`,
      );
    if (this.#routes.has(name)) throw invalid('on', `The topic "${name}" already has a handler.`);
    this.#routes.set(name, route);
    return this;
  }

  #promiseMissing(topic: string): void {
    const error = promiseMissing(
      `The handler of "${topic}"`,
      'its message counts as done, whatever it has begun',
      {
        topic,
      },
    );
    undisturbed(this.#parts.settings.report)({ type: 'promise-missing', topic, error });
  }
}

function invalid(option: string, what: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', what, { details: { option } });
}
