/**
 * A message as a handler receives it.
 *
 * With `on` it is a plain object: a copy by spread or `structuredClone` is whole. With `onBatch` key, headers and time are
 * read off the wire when they are asked for, which saves a seventh of the consumer's processor time: a log shows them, but a
 * copy made by spread lacks these three.
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
  /** Where it came from: the address of the topic, a Kafka topic for example. */
  readonly address: string;
  /** The partition of the address, from 0. */
  readonly partition: number;
  /** The place in the partition. Text, because it may need 64 bits. */
  readonly offset: string;
}
