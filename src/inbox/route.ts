import type { Topic } from '../core/topic.ts';
import type { IncomingMessage } from '../sources/source.ts';
import { tracing } from '../tracing/trace-context.ts';
import type { HandlerContext } from './handler.ts';
import type { HandlerRules } from './handler-options.ts';
import type { InboxMessage } from './reading/inbox-message.ts';
import { type IdReader, idReader } from './reading/message-id.ts';
import { readMessage } from './reading/read-message.ts';

/** A handler as it is called, whatever it answers. */
type Called<Tx, Argument> = (tx: Tx, argument: Argument, context: HandlerContext) => unknown;

/** A message that was read and has its handler, so that only a transaction is missing. */
export interface ReadyMessage<Tx> {
  readonly kind: 'ready';
  readonly id: string;
  readonly topic: string;
  /** As its handler gets it. */
  readonly message: InboxMessage<unknown>;
  /** Has the handler apply it, alone. */
  handle(tx: Tx, context: HandlerContext): unknown;
}

interface Reader<Tx> {
  readonly kind: 'route';
  readonly topic: Topic;
  /** Delays of parked messages. `undefined`: those of the consumer. */
  readonly retryMs: readonly number[] | undefined;
  /** `undefined`: those of the consumer. */
  readonly quickRetriesMs: readonly number[] | undefined;
  /** The id alone, so that a duplicate is known before its body is read. @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE` */
  idOf(message: IncomingMessage): string;
  /** At once, unless the schema answers a promise. @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE`, or rejects with it */
  read(message: IncomingMessage, attempt: number): ReadyMessage<Tx> | Promise<ReadyMessage<Tx>>;
}

/** A topic and who handles its messages one by one. */
export interface SingleRoute<Tx> extends Reader<Tx> {
  readonly batch: false;
}

/** A topic and who handles its messages many at a time. */
export interface BatchRoute<Tx> extends Reader<Tx> {
  readonly batch: true;
  /**
   * Has the handler apply all of them, in this order.
   *
   * @param ready what {@link Reader.read} of this very route answered
   */
  handleAll(tx: Tx, ready: readonly ReadyMessage<Tx>[], context: HandlerContext): unknown;
}

/** A topic and who handles it. */
export type Route<Tx> = SingleRoute<Tx> | BatchRoute<Tx>;

/** Ties a handler to its topic; only here are the two known to have the same payload. */
export function routeOf<Tx, Input, Output>(
  topic: Topic<Input, Output>,
  handler: Called<Tx, InboxMessage<Output>>,
  rules: HandlerRules = {},
): SingleRoute<Tx> {
  const Ready = readyFor<Tx, Output>(handler);
  return { batch: false, ...readerOf(topic, rules, (message) => new Ready(message)) };
}

/** Ties a handler of many messages to its topic. */
export function routeOfBatch<Tx, Input, Output>(
  topic: Topic<Input, Output>,
  handler: Called<Tx, readonly InboxMessage<Output>[]>,
  rules: HandlerRules = {},
): BatchRoute<Tx> {
  const Ready = readyFor<Tx, Output>((tx, message, context) => handler(tx, [message], context));
  return {
    batch: true,
    ...readerOf(topic, { ...rules, lazy: true }, (message) => new Ready(message)),
    handleAll: (tx, ready, context) =>
      handler(
        tx,
        ready.map((one) => Ready.messageOf(one)),
        context,
      ),
  };
}

/** What makes the messages of one route: they share their methods, because a closure for each would cost more. */
interface ReadyClass<Tx, Output> {
  new (message: InboxMessage<Output>): ReadyMessage<Tx>;
  messageOf(ready: ReadyMessage<Tx>): InboxMessage<Output>;
}

function readyFor<Tx, Output>(handler: Called<Tx, InboxMessage<Output>>): ReadyClass<Tx, Output> {
  return class Ready implements ReadyMessage<Tx> {
    readonly kind = 'ready';
    readonly id: string;
    readonly topic: string;
    readonly #message: InboxMessage<Output>;

    constructor(message: InboxMessage<Output>) {
      this.id = message.id;
      this.topic = message.topic;
      this.#message = message;
    }

    /** The class is made anew for every route, and so its private field: who has it has this route's payload. */
    static messageOf(ready: ReadyMessage<Tx>): InboxMessage<Output> {
      if (#message in ready) return ready.#message;
      throw new TypeError(`The message ${ready.id} was read by another route.`);
    }

    get message(): InboxMessage<unknown> {
      return this.#message;
    }

    handle(tx: Tx, context: HandlerContext): unknown {
      return tracing.within(
        () => this.#message.headers,
        () => handler(tx, this.#message, context),
      );
    }
  };
}

function readerOf<Tx, Input, Output>(
  topic: Topic<Input, Output>,
  { id, lazy = false, quickRetriesMs, retryMs }: HandlerRules & { readonly lazy?: boolean },
  ready: (message: InboxMessage<Output>) => ReadyMessage<Tx>,
): Reader<Tx> {
  const idOf: IdReader = idReader(topic.name, id);
  return {
    kind: 'route',
    topic,
    retryMs,
    quickRetriesMs,
    idOf,
    read: (incoming, attempt) => {
      const message = readMessage(topic, incoming, { id: idOf(incoming), attempt, lazy });
      return message instanceof Promise ? message.then(ready) : ready(message);
    },
  };
}
