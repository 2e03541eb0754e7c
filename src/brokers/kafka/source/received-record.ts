import type { KafkaMessage } from 'kafkajs';
import type { IncomingMessage } from '../../source.ts';
import { FetchedRecord } from '../client/fetched-record.ts';
import { headerText, keyText } from '../client/record-text.ts';

/** Texts are decoded on access: a replay reads two headers, and thousands of messages may be waiting. */
export class ReceivedRecord implements IncomingMessage {
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
    return keyText(this.#record.key);
  }

  get body(): Uint8Array | null {
    return this.#record.value;
  }

  get headers(): Readonly<Record<string, string>> {
    const { headers = {} } = this.#record;
    const texts: Record<string, string> = {};
    for (const name of Object.keys(headers)) {
      const text = headerText(headers, name);
      if (text !== undefined) texts[name] = text;
    }
    return texts;
  }

  get timestamp(): Date {
    return new Date(Number(this.#record.timestamp));
  }

  header(name: string): string | undefined {
    return this.#record instanceof FetchedRecord
      ? this.#record.header(name)
      : headerText(this.#record.headers, name);
  }
}
