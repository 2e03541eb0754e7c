import { inspect } from 'node:util';
import type { IncomingMessage } from '../../brokers/source.ts';
import { statedTime } from '../../core/written-time.ts';
import type { InboxMessage } from './inbox-message.ts';
import { storableTime } from './storable-time.ts';

/** Fields that do not come from the wire. */
type Read<Payload> = Pick<InboxMessage<Payload>, 'id' | 'topic' | 'payload' | 'attempt'>;

/** Decodes all fields at once, so that every copy is complete. */
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

/** Decodes key, headers and time on first use: in batches, decoding them costs as much as the body. */
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

  // A test runner's diff reads these getters from a copy that has only the prototype, without the private fields.
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
  return statedTime(message.header('ce_time')) ?? storableTime(message.timestamp);
}
