/** Reads what Kafka writes, from the beginning of some bytes on. */
export class ByteReader {
  readonly bytes: Buffer;
  /** Where the next value begins. */
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  int16(): number {
    this.at += 2;
    return this.bytes.readInt16BE(this.at - 2);
  }

  int32(): number {
    this.at += 4;
    return this.bytes.readInt32BE(this.at - 4);
  }

  int64(): bigint {
    this.at += 8;
    return this.bytes.readBigInt64BE(this.at - 8);
  }

  /** With its length in two bytes. */
  text(): string {
    const size = this.int16();
    if (size === -1) return '';
    this.at += size;
    return this.bytes.toString('utf8', this.at - size, this.at);
  }

  /** An array with its length in four bytes. */
  array<Item>(read: () => Item): Item[] {
    return Array.from({ length: Math.max(0, this.int32()) }, read);
  }

  /** A zigzag number of variable length, of up to 53 bits. */
  variable(): number {
    const first = this.bytes[this.at];
    if (first === undefined) throw new RangeError('A record ends before its fields.');
    this.at += 1;
    // Nearly all are lengths and differences that fit into a byte.
    if (first < 0x80) return (first >>> 1) ^ -(first & 1);
    let value = first & 0x7f;
    for (let scale = 0x80; ; scale *= 0x80) {
      const next = this.bytes[this.at];
      if (next === undefined) throw new RangeError('A record ends within a number.');
      this.at += 1;
      value += (next & 0x7f) * scale;
      if (next < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  }

  skipVariable(): void {
    while ((this.bytes[this.at] ?? 0) >= 0x80) this.at += 1;
    this.at += 1;
  }

  /** Bytes with their length before them, not copied. */
  slice(): Buffer | null {
    const size = this.variable();
    if (size < 0) return null;
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  skipSlice(): void {
    const size = this.variable();
    if (size > 0) this.at += size;
  }
}
