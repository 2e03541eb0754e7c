/** Writes fields as Kafka's protocol has them, one after the other. */
export class KafkaBytes {
  readonly #parts: Buffer[] = [];

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  int8(value: number): this {
    return this.#add(1, (part) => part.writeInt8(value));
  }

  int16(value: number): this {
    return this.#add(2, (part) => part.writeInt16BE(value));
  }

  int32(value: number): this {
    return this.#add(4, (part) => part.writeInt32BE(value));
  }

  int64(value: bigint): this {
    return this.#add(8, (part) => part.writeBigInt64BE(value));
  }

  /** The length of an array of flexible versions; fewer than 127. */
  count(value: number): this {
    return this.int8(value + 1);
  }

  text(value: string | null): this {
    this.int16(value === null ? -1 : Buffer.byteLength(value));
    if (value !== null) this.#parts.push(Buffer.from(value));
    return this;
  }

  /** Of flexible versions; shorter than 127 bytes. */
  compactText(value: string | null): this {
    this.int8(value === null ? 0 : Buffer.byteLength(value) + 1);
    if (value !== null) this.#parts.push(Buffer.from(value));
    return this;
  }

  #add(bytes: number, write: (part: Buffer) => void): this {
    const part = Buffer.alloc(bytes);
    write(part);
    this.#parts.push(part);
    return this;
  }
}

/** Reads the fields of a request, one after the other. */
export class KafkaQuestion {
  readonly #frame: Buffer;
  #at: number;

  /** @param at where its body begins */
  constructor(frame: Buffer, at: number) {
    this.#frame = frame;
    this.#at = at;
  }

  int8(): number {
    return this.take(1).readInt8();
  }

  int16(): number {
    return this.take(2).readInt16BE();
  }

  int32(): number {
    return this.take(4).readInt32BE();
  }

  count(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.take(1).readUInt8();
      value += (byte % 128) * 2 ** shift;
      if (byte < 128) return value - 1;
    }
  }

  text(): string | null {
    const length = this.int16();
    return length < 0 ? null : this.take(length).toString();
  }

  compactText(): string | null {
    const length = this.count();
    return length < 0 ? null : this.take(length).toString();
  }

  take(bytes: number): Buffer {
    this.#at += bytes;
    return this.#frame.subarray(this.#at - bytes, this.#at);
  }
}
