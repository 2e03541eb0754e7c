import type { OutgoingMessage } from '../../transport.ts';
import { largestRecord, type RecordSizes } from './record-sizes.ts';
import { varintSize } from './varint.ts';

/** Everything before the first record: offset, length, epoch, magic, checksum, attributes, times, producer, count. */
export const batchHeaderBytes = 61;
const magic = 2;
const gzipAttribute = 1;
/** The length counts what follows it. */
const uncountedBytes = 12;
const lengthAt = 8;
const checksumAt = 17;
/** Where the bytes begin that the checksum covers. */
const attributesAt = 21;
/** No epoch, producer or sequence: one request at a time is under way per partition, and consumers drop repeats. */
const none = -1;
/** Memory that is kept for the next batch even if this one needs far less. */
const keptBytes = 4 * 1_024 * 1_024;

type Checksum = (bytes: Buffer) => number;

/**
 * Writes record batches of Kafka's format v2, one after the other, into memory that it uses again.
 *
 * Into one Buffer and without an object per message: a client that builds each record out of small Buffers spends ten times
 * as long, which was half of a relay's processor time.
 */
export class RecordBatchWriter {
  readonly #crc32c: Checksum;
  #target = Buffer.alloc(0);
  #at = 0;
  /** Headers of the record before, and where each begins; then where they end. */
  #names: string[] = [];
  #values: string[] = [];
  #starts: number[] = [];

  /** @param crc32c CRC-32C, Castagnoli */
  constructor(crc32c: Checksum) {
    this.#crc32c = crc32c;
  }

  /**
   * One batch of the messages at these indexes, in this order.
   *
   * @param indexes at least one
   * @param timeMs the time of every record, in milliseconds since 1970
   * @returns a view of memory that the next call uses again
   */
  write(
    messages: readonly OutgoingMessage[],
    indexes: readonly number[],
    sizes: RecordSizes,
    timeMs: number,
  ): Buffer {
    let most = batchHeaderBytes;
    for (const index of indexes) most += largestRecord(sizes, index);
    this.#begin(most);
    for (const [number, index] of indexes.entries()) {
      const message = messages[index];
      if (message !== undefined) this.#record(message, index, sizes, number);
    }
    const batch = this.#target.subarray(0, this.#at);
    writeHeader(batch, indexes.length, BigInt(timeMs));
    seal(batch, { gzip: false, crc32c: this.#crc32c });
    return batch;
  }

  #begin(bytes: number): void {
    if (this.#target.length < bytes || this.#target.length > bytes + keptBytes)
      this.#target = Buffer.allocUnsafeSlow(bytes);
    this.#at = batchHeaderBytes;
    this.#names = [];
    this.#values = [];
    this.#starts = [];
  }

  #record(
    { key, payload, headers }: OutgoingMessage,
    index: number,
    sizes: RecordSizes,
    number: number,
  ): void {
    this.#varint((sizes.bytes[index] ?? 0) + varintSize(number));
    // Attributes, and the difference to the time of the batch.
    this.#varint(0);
    this.#varint(0);
    this.#varint(number);
    if (key === null) this.#varint(none);
    else this.#text(key);
    this.#text(payload);
    this.#varint(sizes.headers[index] ?? 0);
    this.#headers(headers);
  }

  /** Headers that are the same as in the record before, at the same index, are copied from there, whole runs at once. */
  #headers(headers: OutgoingMessage['headers']): void {
    const starts: number[] = [];
    let index = 0;
    /** Where the run of equal headers begins that has not been copied yet. */
    let run = 0;
    for (const name in headers) {
      const value = headers[name] ?? '';
      if (this.#values[index] !== value || this.#names[index] !== name) {
        this.#repeat(run, index, starts);
        starts[index] = this.#at;
        this.#text(name);
        this.#text(value);
        this.#names[index] = name;
        this.#values[index] = value;
        run = index + 1;
      }
      index += 1;
    }
    this.#repeat(run, index, starts);
    starts[index] = this.#at;
    this.#names.length = index;
    this.#values.length = index;
    this.#starts = starts;
  }

  #repeat(from: number, to: number, starts: number[]): void {
    if (from === to) return;
    const begin = this.#starts[from] ?? 0;
    const end = this.#starts[to] ?? 0;
    const shift = this.#at - begin;
    for (let index = from; index < to; index += 1) starts[index] = (this.#starts[index] ?? 0) + shift;
    this.#target.copyWithin(this.#at, begin, end);
    this.#at += end - begin;
  }

  /** A text with its length in bytes before it, which for nearly all texts takes as much room as that in characters. */
  #text(text: string): void {
    const start = this.#at;
    const expected = varintSize(text.length);
    const written = this.#target.write(text, start + expected);
    const needed = varintSize(written);
    if (needed !== expected)
      this.#target.copyWithin(start + needed, start + expected, start + expected + written);
    this.#varint(written);
    this.#at = start + needed + written;
  }

  #varint(value: number): void {
    let rest = ((value << 1) ^ (value >> 31)) >>> 0;
    while (rest > 0x7f) {
      this.#target[this.#at] = (rest & 0x7f) | 0x80;
      this.#at += 1;
      rest >>>= 7;
    }
    this.#target[this.#at] = rest;
    this.#at += 1;
  }
}

function writeHeader(batch: Buffer, count: number, time: bigint): void {
  batch.writeBigInt64BE(0n, 0);
  batch.writeInt32BE(none, lengthAt + 4);
  batch.writeInt8(magic, checksumAt - 1);
  let at = batch.writeInt32BE(count - 1, attributesAt + 2);
  at = batch.writeBigInt64BE(time, at);
  at = batch.writeBigInt64BE(time, at);
  at = batch.writeBigInt64BE(BigInt(none), at);
  at = batch.writeInt16BE(none, at);
  at = batch.writeInt32BE(none, at);
  batch.writeInt32BE(count, at);
}

/** Fills in what depends on the bytes of the records: length, attributes and checksum. */
export function seal(
  batch: Buffer,
  { gzip, crc32c }: { readonly gzip: boolean; readonly crc32c: Checksum },
): void {
  batch.writeInt32BE(batch.length - uncountedBytes, lengthAt);
  batch.writeInt16BE(gzip ? gzipAttribute : 0, attributesAt);
  batch.writeUInt32BE(crc32c(batch.subarray(attributesAt)) >>> 0, checksumAt);
}
