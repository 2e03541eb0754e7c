import { shared } from '../core/shared.ts';
import { assertTopic, type Topic } from '../core/topic.ts';
import type { Consumer } from '../inbox/consumer-interface.ts';
import type { Handler, HandlerContext } from '../inbox/handler.ts';
import type { HandlerOptions } from '../inbox/handler-options.ts';
import type { InboxMessage } from '../inbox/reading/inbox-message.ts';
import type { Transaction } from '../store/database/transaction.ts';

/** Decorates a method, as TypeScript does with `experimentalDecorators`. */
export type MessageDecorator<Payload> = <
  Method extends (tx: never, message: InboxMessage<Payload>, context: HandlerContext) => Promise<unknown>,
>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/** A method that handles a topic, and how a consumer comes to call it. */
interface Handling {
  readonly method: string | symbol;
  readonly register: <Tx extends Transaction>(consumer: Consumer<Tx>, handler: Handler<Tx, unknown>) => void;
}

/** By the prototype that has the methods. */
const handlings = shared('handlings', () => new WeakMap<object, Handling[]>());

/**
 * Makes a method the handler of a topic, as `consumer(…).on(topic, handler, options)` does: it gets the transaction, the message
 * and its context, and must return a promise. Its class is one of the `handlers` of the {@link OutboxModule}.
 *
 * @example
 * @OnMessage(orderTimeout)
 * async cancelUnpaid(tx: Tx, { payload }: InboxMessage<OrderTimeout>): Promise<void> { … }
 */
export function OnMessage<Input, Output>(
  topic: Topic<Input, Output>,
  options: HandlerOptions = {},
): MessageDecorator<Output> {
  assertTopic('@OnMessage', topic);
  return (target, method) => {
    const known = handlings.get(target) ?? [];
    handlings.set(target, known);
    known.push({ method, register: (consumer, handler) => void consumer.on(topic, handler, options) });
  };
}

/** The decorated methods of a class and of those that it extends. */
export function handlingsOf(prototype: object): readonly Handling[] {
  const parent: unknown = Object.getPrototypeOf(prototype);
  const inherited = typeof parent === 'object' && parent !== null ? handlingsOf(parent) : [];
  return [...inherited, ...(handlings.get(prototype) ?? [])];
}
