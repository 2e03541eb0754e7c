import type { IncomingMessage } from '../brokers/source.ts';
import type { Topic } from '../core/topic.ts';
import { tracing } from '../telemetry/trace-context.ts';
import type { HandlerContext } from './handler.ts';
import type { HandlerRules } from './handler-options.ts';
import type { InboxMessage } from './reading/inbox-message.ts';
import { type IdReader, idReader } from './reading/message-id.ts';
import { readMessage } from './reading/read-message.ts';

/** A handler as it is called, whatever it returns. */
type Called<Tx, Argument> = (tx: Tx, argument: Argument, context: HandlerContext) => unknown;

/** A message that was read and is bound to its handler: only the transaction is missing. */
export interface ReadyMessage<Tx> {
  readonly kind: 'ready';
  readonly id: string;
  readonly topic: string;
  /** As its handler gets it. */
  readonly message: InboxMessage<unknown>;
  /** Calls the handler with this message alone. */
  handle(tx: Tx, context: HandlerContext): unknown;
}

interface Reader<Tx> {
  readonly kind: 'route';
  readonly topic: Topic;
  /** Delays of parked messages. `undefined`: the consumer's. */
  readonly retryMs: readonly number[] | undefined;
  /** `undefined`: the consumer's. */
  readonly quickRetriesMs: readonly number[] | undefined;
  /** Reads only the id, so that a duplicate is found before its body is parsed. @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE` */
  idOf(message: IncomingMessage): string;
  /** Synchronous, unless the schema returns a promise. @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE`, or rejects with it */
  read(message: IncomingMessage, attempt: number): ReadyMessage<Tx> | Promise<ReadyMessage<Tx>>;
}

/** A topic and the handler that takes its messages one at a time. */
export interface SingleRoute<Tx> extends Reader<Tx> {
  readonly batch: false;
}

/** A topic and the handler that takes many of its messages at a time. */
export interface BatchRoute<Tx> extends Reader<Tx> {
  readonly batch: true;
  /**
   * Calls the handler with all of them, in this order.
   *
   * @param ready messages that {@link Reader.read} of this same route has read
   */
  handleAll(tx: Tx, ready: readonly ReadyMessage<Tx>[], context: HandlerContext): unknown;
}

/** A topic and its handler. */
export type Route<Tx> = SingleRoute<Tx> | BatchRoute<Tx>;

/** Binds a handler to its topic; only here does the compiler know that both have the same payload. */
export function routeOf<Tx, Input, Output>(
  topic: Topic<Input, Output>,
  handler: Called<Tx, InboxMessage<Output>>,
  rules: HandlerRules = {},
): SingleRoute<Tx> {
  const Ready = readyFor<Tx, Output>(handler);
  return { batch: false, ...readerOf(topic, rules, (message) => new Ready(message)) };
}

/** Binds a handler of many messages to its topic. */
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

/** The class of one route's messages: its methods are shared, because closures for each message would cost more. */
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

    /** Every route has its own class with its own private field: an object that has the field has this route's payload. */
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
