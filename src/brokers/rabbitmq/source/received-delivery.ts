import type { ConsumeMessage } from 'amqplib';
import type { IncomingMessage } from '../../source.ts';
import { keyHeader } from '../client/key-header.ts';

const contentType = 'content-type';

/**
 * A message as a queue delivered it. Texts are decoded on access: thousands of messages may be waiting.
 *
 * A queue has no offsets. The message id of the sender takes that role, so that it is the same at every delivery;
 * without one it is the number of this delivery, which differs the next time.
 */
export class ReceivedDelivery implements IncomingMessage {
  readonly address: string;
  readonly partition = 0;
  readonly offset: string;
  /** As amqplib delivered it, for the acknowledgement. */
  readonly raw: ConsumeMessage;
  /** By `performance.now()`. */
  readonly receivedAtMs = performance.now();
  /** By `performance.now()`; the message was rejected and rests until then. */
  restsUntilMs = 0;

  /** @param channel a name that no other channel has ever had */
  constructor(address: string, raw: ConsumeMessage, channel: string) {
    const id: unknown = raw.properties.messageId;
    this.address = address;
    this.raw = raw;
    this.offset = typeof id === 'string' && id !== '' ? id : `${channel}.${raw.fields.deliveryTag}`;
  }

  /** What it takes in memory, about: its body and headers. */
  get bytes(): number {
    let bytes = this.raw.content.length;
    for (const name of Object.keys(this.#table())) bytes += name.length + (this.header(name)?.length ?? 0);
    return bytes;
  }

  get key(): string | null {
    return textOf(this.#table(), keyHeader) ?? null;
  }

  get body(): Uint8Array {
    return this.raw.content;
  }

  get headers(): Readonly<Record<string, string>> {
    const texts: Record<string, string> = {};
    for (const name of [...Object.keys(this.#table()), contentType]) {
      const text = this.header(name);
      if (text !== undefined && name !== keyHeader) texts[name] = text;
    }
    return texts;
  }

  get timestamp(): Date {
    const seconds: unknown = this.raw.properties.timestamp;
    return typeof seconds === 'number' ? new Date(seconds * 1_000) : new Date();
  }

  header(name: string): string | undefined {
    const type: unknown = name === contentType ? this.raw.properties.contentType : undefined;
    return typeof type === 'string' ? type : textOf(this.#table(), name);
  }

  #table(): Readonly<Record<string, unknown>> {
    return this.raw.properties.headers ?? {};
  }
}

/** Headers of other senders may be numbers, timestamps, binary values or tables. */
function textOf(table: Readonly<Record<string, unknown>>, name: string): string | undefined {
  if (!Object.hasOwn(table, name)) return undefined;
  const value = table[name];
  if (typeof value === 'string') return value;
  return Buffer.isBuffer(value) ? value.toString() : JSON.stringify(value);
}
