import type { Topic } from '../core/topic.ts';
import type { IncomingMessage } from '../sources/source.ts';
import type { Handler } from './inbox-message.ts';
import { readMessage } from './read-message.ts';

/** A message that was read and has its handler, so that only a transaction is missing. */
export interface ReadyMessage<Tx> {
  readonly id: string;
  readonly topic: string;
  readonly handle: (tx: Tx) => unknown;
}

/** A topic and who handles it. */
export interface Route<Tx> {
  readonly topic: Topic;
  /** @throws OutboxError `OUTBOX_MESSAGE_UNREADABLE` */
  readonly read: (message: IncomingMessage, attempt: number) => Promise<ReadyMessage<Tx>>;
}

/** Ties a handler to its topic; only here are the two known to have the same payload. */
export function routeOf<Tx, Input, Output>(
  topic: Topic<Input, Output>,
  handler: Handler<Tx, Output>,
): Route<Tx> {
  return {
    topic,
    read: async (incoming, attempt) => {
      const message = await readMessage(topic, incoming, attempt);
      return { id: message.id, topic: topic.name, handle: (tx) => handler(tx, message) };
    },
  };
}
