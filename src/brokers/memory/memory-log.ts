import { incomingMessage } from '../incoming-message.ts';
import type { IncomingMessage } from '../source.ts';

/** A message for a memory source. */
export interface MemoryMessage {
  /** Messages of one key go to one partition. @defaultValue null, no key */
  readonly key?: string | null;
  /** A string is encoded as UTF-8; `null`: no body. */
  readonly body: Uint8Array | string | null;
  /** Headers by name. @defaultValue none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Its partition, from 0. @defaultValue chosen by the key; round robin without one */
  readonly partition?: number;
}

/** The messages of one address, per partition. */
export class MemoryLog {
  readonly partitions: readonly (readonly IncomingMessage[])[];
  readonly #address: string;
  readonly #rows: readonly IncomingMessage[][];
  #turn = 0;

  constructor(address: string, partitions: number) {
    this.#address = address;
    this.#rows = Array.from({ length: partitions }, () => []);
    this.partitions = this.#rows;
  }

  /** @throws RangeError for a partition that does not exist */
  append({ key = null, body, headers = {}, partition = this.#choose(key) }: MemoryMessage): IncomingMessage {
    const row = this.#rows[partition];
    if (row === undefined) throw new RangeError(`${this.#address} has no partition ${partition}.`);
    const message = incomingMessage({
      address: this.#address,
      partition,
      offset: String(row.length),
      key,
      body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
      headers: { ...headers },
      timestamp: new Date(),
    });
    row.push(message);
    return message;
  }

  #choose(key: string | null): number {
    let number = 0;
    if (key === null) number = this.#turn++;
    else
      for (let index = 0; index < key.length; index += 1)
        number = (number * 31 + key.charCodeAt(index)) >>> 0;
    return number % this.#rows.length;
  }
}
