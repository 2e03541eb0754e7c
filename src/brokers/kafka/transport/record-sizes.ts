import type { OutgoingMessage } from '../../transport.ts';
import { textSize, varintSize } from './varint.ts';

/** The size of each message of a batch as a record, by index. Counted once, for cutting batches and for writing them. */
export interface RecordSizes {
  /** Without its own length and its number in the batch. */
  readonly bytes: Int32Array;
  /** How many headers it has. */
  readonly headers: Int32Array;
}

/** Attributes of the record, and its time, which is the batch's. */
const recordStartBytes = 2;
const longestNumber = 3;

export function recordSizes(messages: readonly OutgoingMessage[]): RecordSizes {
  const sizes = { bytes: new Int32Array(messages.length), headers: new Int32Array(messages.length) };
  const headers = new HeaderSizes();
  for (const [index, { key, payload, headers: own }] of messages.entries()) {
    const keySize = key === null ? 1 : textSize(Buffer.byteLength(key));
    const texts = headers.measure(own);
    sizes.headers[index] = headers.count;
    sizes.bytes[index] =
      recordStartBytes + keySize + textSize(Buffer.byteLength(payload)) + varintSize(headers.count) + texts;
  }
  return sizes;
}

/** What a message adds to a batch at the most, in bytes: exact but for two bytes of its number. */
export function largestRecord({ bytes }: RecordSizes, index: number): number {
  const size = (bytes[index] ?? 0) + longestNumber;
  return varintSize(size) + size;
}

/** Sizes of headers. Most are the same in every message of a batch, and in the same order: those are not counted again. */
class HeaderSizes {
  count = 0;
  readonly #names: string[] = [];
  readonly #values: string[] = [];
  readonly #sizes: number[] = [];

  measure(headers: OutgoingMessage['headers']): number {
    let size = 0;
    this.count = 0;
    for (const name in headers) {
      size += this.#sizeOf(this.count, name, headers[name] ?? '');
      this.count += 1;
    }
    return size;
  }

  #sizeOf(index: number, name: string, value: string): number {
    if (this.#values[index] === value && this.#names[index] === name) return this.#sizes[index] ?? 0;
    const size = textSize(Buffer.byteLength(name)) + textSize(Buffer.byteLength(value));
    this.#names[index] = name;
    this.#values[index] = value;
    this.#sizes[index] = size;
    return size;
  }
}
