/**
 * A message as a handler receives it.
 *
 * Key, headers and time are read off the wire when they are asked for: a log shows them, but a copy made by spread lacks
 * them.
 */
export interface InboxMessage<Payload> {
  /** The id under which it was sent, or `<topic>:<id>` where the handler says what tells it; handled once per group and id. */
  readonly id: string;
  /** Name of the topic. */
  readonly topic: string;
  /** Messages of one topic and key arrive in order; `null`: without order. */
  readonly key: string | null;
  /** What the topic's schema made of the body. */
  readonly payload: Payload;
  /** All headers of the wire, CloudEvents (`ce_…`) included. */
  readonly headers: Readonly<Record<string, string>>;
  /** Which try of the handler this is, from 1, as far as this process knows. */
  readonly attempt: number;
  /** When it was sent: the moment of `send`, not of publication. */
  readonly sentAt: Date;
  /** Where it came from: the address of the topic, the partition, and the place in it. */
  readonly address: string;
  readonly partition: number;
  readonly offset: string;
}

/**
 * Applies a message. Whatever it writes through `tx` commits together with the id of the message, or not at all; what
 * it does elsewhere may happen again after a failure.
 *
 * To fail, throw: the transaction is rolled back and the message is tried again.
 */
export type Handler<Tx, Payload> = (tx: Tx, message: InboxMessage<Payload>) => unknown;

/**
 * Applies many messages of one topic, in the order in which they came. What it writes through `tx` commits together with
 * their ids, or not at all.
 *
 * To fail, throw: the transaction is rolled back.
 */
export type BatchHandler<Tx, Payload> = (tx: Tx, messages: readonly InboxMessage<Payload>[]) => unknown;
