import { ByteReader } from './byte-reader.ts';

/** What the records of one batch have in common. Of these, kafkajs reads `inTransaction` and `producerId`. */
export interface RecordContext {
  readonly firstOffset: bigint;
  readonly firstTimestamp: bigint;
  /** The time of every record, if the broker has set it. */
  readonly appendedAt: bigint | undefined;
  readonly inTransaction: boolean;
  readonly producerId: string;
  readonly isControlBatch: boolean;
}

const namesInBytes = new Map<string, Buffer>();
const mostNames = 1_000;

/**
 * A record as kafkajs knows it, whose fields are read from its bytes on access. kafkajs reads all of them at once, into many
 * small objects: a third of the time of a consumer of batches.
 */
export class FetchedRecord {
  readonly offset: string;
  /** None is in use. */
  readonly attributes = 0;
  readonly batchContext: RecordContext;
  readonly #bytes: Buffer;
  /** Where the record begins, after its length. */
  readonly #begin: number;
  /** Where the key begins. */
  readonly #key: number;

  /** @param reader is at the beginning of the record, after its length */
  constructor(reader: ByteReader, context: RecordContext) {
    this.#bytes = reader.bytes;
    this.#begin = reader.at;
    this.batchContext = context;
    reader.at += 1;
    reader.skipVariable();
    this.offset = plus(context.firstOffset, reader.variable());
    this.#key = reader.at;
  }

  get isControlRecord(): boolean {
    return this.batchContext.isControlBatch;
  }

  get timestamp(): string {
    const { appendedAt, firstTimestamp } = this.batchContext;
    if (appendedAt !== undefined) return String(appendedAt);
    return plus(firstTimestamp, new ByteReader(this.#bytes, this.#begin + 1).variable());
  }

  get key(): Buffer | null {
    return new ByteReader(this.#bytes, this.#key).slice();
  }

  get value(): Buffer | null {
    const reader = new ByteReader(this.#bytes, this.#key);
    reader.skipSlice();
    return reader.slice();
  }

  /** As kafkajs has them: the values of a name that occurs repeatedly are in an array. */
  get headers(): Readonly<Record<string, Buffer | null | readonly (Buffer | null)[]>> {
    const reader = this.#atHeaders();
    const found = new Map<string, (Buffer | null)[]>();
    for (let left = reader.variable(); left > 0; left -= 1) {
      const name = reader.slice()?.toString() ?? '';
      const values = found.get(name) ?? [];
      values.push(reader.slice());
      found.set(name, values);
    }
    return Object.fromEntries(
      Array.from(found, ([name, values]) => [name, values.length === 1 ? (values[0] ?? null) : values]),
    );
  }

  /** The value of a header, the last one of its name. */
  header(name: string): string | undefined {
    const wanted = bytesOf(name);
    const reader = this.#atHeaders();
    const { bytes } = reader;
    let begin = -1;
    let end = -1;
    for (let left = reader.variable(); left > 0; left -= 1) {
      const size = reader.variable();
      const same = size === wanted.length && sameBytes(bytes, reader.at, wanted);
      reader.at += Math.max(0, size);
      const length = reader.variable();
      if (same) {
        begin = length < 0 ? -1 : reader.at;
        end = reader.at + length;
      }
      reader.at += Math.max(0, length);
    }
    return begin === -1 ? undefined : bytes.toString('utf8', begin, end);
  }

  #atHeaders(): ByteReader {
    const reader = new ByteReader(this.#bytes, this.#key);
    reader.skipSlice();
    reader.skipSlice();
    return reader;
  }
}

/** A record without anything: attributes, time, offset, no key, no value, no headers. */
const nothing = Buffer.from([0, 0, 0, 1, 1, 0]);

/** Where an answer ends that has no message there. It is handed over as a record, so that its offset is passed, and is no message. */
export class AnswerEnd extends FetchedRecord {
  constructor(offset: bigint) {
    super(new ByteReader(nothing), {
      firstOffset: offset,
      firstTimestamp: 0n,
      appendedAt: undefined,
      inTransaction: false,
      producerId: '-1',
      isControlBatch: false,
    });
  }
}

/** Numbers are faster than bigints, and nearly always suffice. */
function plus(first: bigint, more: number): string {
  const sum = Number(first) + more;
  return String(Number.isSafeInteger(sum) ? sum : first + BigInt(more));
}

function bytesOf(name: string): Buffer {
  const known = namesInBytes.get(name);
  if (known !== undefined) return known;
  // Those that handlers ask for are few, unless they are made of data.
  if (namesInBytes.size >= mostNames) namesInBytes.clear();
  const bytes = Buffer.from(name);
  namesInBytes.set(name, bytes);
  return bytes;
}

/** For names of some bytes faster than a call of `Buffer.compare`. Different ones mostly differ at their end. */
function sameBytes(bytes: Buffer, at: number, wanted: Buffer): boolean {
  for (let n = wanted.length - 1; n >= 0; n -= 1) if (bytes[at + n] !== wanted[n]) return false;
  return true;
}
