import type { IHeaders, KafkaMessage } from 'kafkajs';
import type { IncomingMessage } from '../source.ts';

/** A record as the port knows it. */
export function incomingMessage(address: string, partition: number, record: KafkaMessage): IncomingMessage {
  return new Incoming(address, partition, record);
}

class Incoming implements IncomingMessage {
  readonly address: string;
  readonly partition: number;
  readonly offset: string;
  readonly key: string | null;
  readonly body: Uint8Array | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly #timestamp: string;

  constructor(address: string, partition: number, { offset, key, value, headers, timestamp }: KafkaMessage) {
    this.address = address;
    this.partition = partition;
    this.offset = offset;
    this.key = key === null ? null : key.toString();
    this.body = value;
    this.headers = headersOf(headers);
    this.#timestamp = timestamp;
  }

  /** Made when it is asked for: nearly every message tells in a header when it was sent, and a replay does not ask. */
  get timestamp(): Date {
    return new Date(Number(this.#timestamp));
  }
}

function headersOf(headers: IHeaders | undefined): Record<string, string> {
  const texts: Record<string, string> = {};
  if (headers === undefined) return texts;
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) texts[name] = last.toString();
  }
  return texts;
}
