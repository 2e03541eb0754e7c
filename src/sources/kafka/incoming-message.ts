import { isUtf8 } from 'node:buffer';
import type { IHeaders, KafkaMessage } from 'kafkajs';
import type { IncomingMessage } from '../source.ts';

/** A record as the port knows it. */
export function incomingMessage(address: string, partition: number, record: KafkaMessage): IncomingMessage {
  return new Incoming(address, partition, record);
}

/** Texts are made when they are asked for: a replay reads two headers, and thousands of messages wait for their turn. */
class Incoming implements IncomingMessage {
  readonly address: string;
  readonly partition: number;
  readonly #record: KafkaMessage;

  constructor(address: string, partition: number, record: KafkaMessage) {
    this.address = address;
    this.partition = partition;
    this.#record = record;
  }

  get offset(): string {
    return this.#record.offset;
  }

  get key(): string | null {
    const { key } = this.#record;
    if (key === null) return null;
    const text = key.toString();
    // Bytes that are no text would all become the same one, and their messages queue behind each other.
    return text.includes('\u{fffd}') && !isUtf8(key) ? key.toString('latin1') : text;
  }

  get body(): Uint8Array | null {
    return this.#record.value;
  }

  get headers(): Readonly<Record<string, string>> {
    const { headers = {} } = this.#record;
    const texts: Record<string, string> = {};
    for (const name of Object.keys(headers)) {
      const text = textOf(headers[name]);
      if (text !== undefined) texts[name] = text;
    }
    return texts;
  }

  get timestamp(): Date {
    return new Date(Number(this.#record.timestamp));
  }

  header(name: string): string | undefined {
    const { headers } = this.#record;
    // Strangers name them, too.
    return headers !== undefined && Object.hasOwn(headers, name) ? textOf(headers[name]) : undefined;
  }
}

function textOf(value: IHeaders[string]): string | undefined {
  return (Array.isArray(value) ? value.at(-1) : value)?.toString();
}
