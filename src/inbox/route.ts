import type { IncomingMessage } from '../brokers/source.ts';
import type { Topic } from '../core/topic.ts';
import { spans } from '../telemetry/spans.ts';
import type { Processor, TriedMessage } from '../telemetry/traced-message.ts';
import type { WorkEnd } from '../telemetry/work-end.ts';
import type { HandlerContext } from './handler.ts';
import type { HandlerRules } from './handler-options.ts';
import type { InboxMessage } from './reading/inbox-message.ts';
import { type IdReader, idReader } from './reading/message-id.ts';
import { readMessage } from './reading/read-message.ts';

/** A handler as it is called, whatever it returns. */
type Called<Tx, Argument> = (tx: Tx, argument: Argument, context: HandlerContext) => unknown;

/** The transaction of a handler, as what calls the handler knows it. */
export interface TransactionInHand extends HandlerContext {
  /** Tells when it has ended. @defaultValue nobody is told */
  readonly outcome?: WorkEnd;
  /** To be called when a handler gets so many messages of this topic. */
  tried?(topic: string, count: number): void;
}

/** A message that was read and is bound to its handler: only the transaction is missing. */
export interface ReadyMessage<Tx> extends TriedMessage {
  readonly kind: 'ready';
  readonly id: string;
  readonly topic: string;
  /** As its handler gets it. */
  readonly message: InboxMessage<unknown>;
  /** As it arrived. */
  readonly incoming: IncomingMessage;
  /** Calls the handler with this message alone. */
  handle(tx: Tx, context: TransactionInHand): unknown;
}

interface Reader<Tx> {
  readonly kind: 'route';
  readonly topic: Topic;
  /** As its spans name it. */
  readonly processor: Processor;
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
  handleAll(tx: Tx, ready: readonly ReadyMessage<Tx>[], context: TransactionInHand): unknown;
}

/** A topic and its handler. */
export type Route<Tx> = SingleRoute<Tx> | BatchRoute<Tx>;

/** The options of a handler, and whose it is, as its spans name them. */
export interface RouteRules extends HandlerRules, Partial<Pick<Processor, 'group' | 'system'>> {}

function processorOf(topic: string, { group = '', system = () => '' }: RouteRules): Processor {
  return { topic, group, system };
}

/** Binds a handler to its topic; only here does the compiler know that both have the same payload. */
export function routeOf<Tx, Input, Output>(
  topic: Topic<Input, Output>,
  handler: Called<Tx, InboxMessage<Output>>,
  rules: RouteRules = {},
): SingleRoute<Tx> {
  const Ready = readyFor<Tx, Output>(processorOf(topic.name, rules), handler);
  return { batch: false, ...readerOf(topic, rules, (...read) => new Ready(...read)) };
}

/** Binds a handler of many messages to its topic. */
export function routeOfBatch<Tx, Input, Output>(
  topic: Topic<Input, Output>,
  handler: Called<Tx, readonly InboxMessage<Output>[]>,
  rules: RouteRules = {},
): BatchRoute<Tx> {
  const processor = processorOf(topic.name, rules);
  const Ready = readyFor<Tx, Output>(processor, (tx, message, context) => handler(tx, [message], context));
  return {
    batch: true,
    ...readerOf(topic, { ...rules, lazy: true }, (...read) => new Ready(...read)),
    handleAll: (tx, ready, context) => {
      const messages = ready.map((one) => Ready.messageOf(one));
      context.tried?.(topic.name, messages.length);
      return spans.processAll(processor, ready, () => handler(tx, messages, context), context.outcome);
    },
  };
}

/** The class of one route's messages: its methods are shared, because closures for each message would cost more. */
interface ReadyClass<Tx, Output> {
  new (message: InboxMessage<Output>, incoming: IncomingMessage): ReadyMessage<Tx>;
  messageOf(ready: ReadyMessage<Tx>): InboxMessage<Output>;
}

function readyFor<Tx, Output>(
  processor: Processor,
  handler: Called<Tx, InboxMessage<Output>>,
): ReadyClass<Tx, Output> {
  return class Ready implements ReadyMessage<Tx> {
    readonly kind = 'ready';
    readonly id: string;
    readonly topic: string;
    readonly incoming: IncomingMessage;
    readonly #message: InboxMessage<Output>;

    constructor(message: InboxMessage<Output>, incoming: IncomingMessage) {
      this.incoming = incoming;
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

    handle(tx: Tx, context: TransactionInHand): unknown {
      context.tried?.(this.topic, 1);
      return spans.process(processor, this, () => handler(tx, this.#message, context), context.outcome);
    }
  };
}

function readerOf<Tx, Input, Output>(
  topic: Topic<Input, Output>,
  { id, lazy = false, quickRetriesMs, retryMs, ...rules }: RouteRules & { readonly lazy?: boolean },
  ready: (message: InboxMessage<Output>, incoming: IncomingMessage) => ReadyMessage<Tx>,
): Reader<Tx> {
  const idOf: IdReader = idReader(topic.name, id);
  return {
    kind: 'route',
    topic,
    processor: processorOf(topic.name, rules),
    retryMs,
    quickRetriesMs,
    idOf,
    read: (incoming, attempt) => {
      const message = readMessage(topic, incoming, { id: idOf(incoming), attempt, lazy });
      return message instanceof Promise
        ? message.then((read) => ready(read, incoming))
        : ready(message, incoming);
    },
  };
}
