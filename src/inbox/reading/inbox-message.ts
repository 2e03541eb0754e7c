/**
 * A message as a handler receives it.
 *
 * With `on` it is a plain object: a copy by spread or `structuredClone` is complete. With `onBatch` key, headers and time
 * are decoded on first use, which saves a seventh of the consumer's processor time: a log shows them, but a copy made by
 * spread lacks these three.
 */
export interface InboxMessage<Payload> {
  /**
   * Handled once per group and id. The id that its outbox made for it; `/outbox/<installation>|<id>` if its sender chose the id,
   * because another installation may choose the same; `<topic>:<id>` if the handler has an `id` option.
   */
  readonly id: string;
  /** Name of the topic. */
  readonly topic: string;
  /** Messages of one topic and key arrive in order; `null`: no order. */
  readonly key: string | null;
  /** The body as the topic's schema parsed it. */
  readonly payload: Payload;
  /** All headers, CloudEvents (`ce_…`) included. */
  readonly headers: Readonly<Record<string, string>>;
  /** Number of this try, from 1, as far as this process knows. */
  readonly attempt: number;
  /** When it was sent: the moment of `send`, not of publication. */
  readonly sentAt: Date;
  /** Where it came from: the address of the topic, a Kafka topic for example. */
  readonly address: string;
  /** The partition of the address, from 0. */
  readonly partition: number;
  /** The offset in the partition. A string, because it may need 64 bits. */
  readonly offset: string;
}
