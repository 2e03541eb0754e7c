import { inspect } from 'node:util';
import type { IncomingMessage } from '../../sources/source.ts';
import type { InboxMessage } from './inbox-message.ts';

/** What is not read off the wire. */
type Read<Payload> = Pick<InboxMessage<Payload>, 'id' | 'topic' | 'payload' | 'attempt'>;

/** All of it at once, so that every copy is whole. */
export function plainMessage<Payload>(incoming: IncomingMessage, read: Read<Payload>): InboxMessage<Payload> {
  const { id, topic, payload, attempt } = read;
  const { address, headers, key, offset, partition } = incoming;
  return {
    id,
    topic,
    key,
    payload,
    headers,
    attempt,
    sentAt: sentAt(incoming),
    address,
    partition,
    offset,
  };
}

/** Reads key, headers and time when a handler asks for them: for batches these texts cost as much as the body. */
export class ReceivedMessage<Payload> implements InboxMessage<Payload> {
  readonly id: string;
  readonly topic: string;
  readonly payload: Payload;
  readonly attempt: number;
  readonly address: string;
  readonly partition: number;
  readonly offset: string;
  readonly #incoming: IncomingMessage;
  #headers: Readonly<Record<string, string>> | undefined;
  #sentAt: Date | undefined;

  constructor(incoming: IncomingMessage, { id, topic, payload, attempt }: Read<Payload>) {
    this.id = id;
    this.topic = topic;
    this.payload = payload;
    this.attempt = attempt;
    this.address = incoming.address;
    this.partition = incoming.partition;
    this.offset = incoming.offset;
    this.#incoming = incoming;
  }

  // Who shows the difference of two messages, as tests do, asks these of a copy that has the methods alone.
  get key(): string | null {
    return #incoming in this ? this.#incoming.key : null;
  }

  get headers(): Readonly<Record<string, string>> {
    return #incoming in this ? (this.#headers ??= this.#incoming.headers) : {};
  }

  get sentAt(): Date {
    return #incoming in this ? (this.#sentAt ??= sentAt(this.#incoming)) : new Date(0);
  }

  /** For logs. */
  toJSON(): InboxMessage<Payload> {
    const { id, topic, key, payload, headers, attempt, address, partition, offset } = this;
    return { id, topic, key, payload, headers, attempt, sentAt: this.sentAt, address, partition, offset };
  }

  [inspect.custom](): InboxMessage<Payload> {
    return this.toJSON();
  }
}

function sentAt(message: IncomingMessage): Date {
  const text = message.header('ce_time');
  if (text === undefined) return message.timestamp;
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? message.timestamp : time;
}
