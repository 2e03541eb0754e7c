import { copyBytes, repeatBytes } from './back-reference.ts';

const magic = 0x184d2204;
/** Bits of the frame's flags: what the frame contains besides blocks. */
const flags = { dictionary: 0x01, contentChecksum: 0x04, contentSize: 0x08, blockChecksum: 0x10 } as const;
const isUnpacked = 0x80_00_00_00;
const shortestRepeat = 4;

/**
 * Unpacks a batch of LZ4 frames. Does not verify their checksums: Kafka's own covers the batch.
 *
 * @throws RangeError if it is not in that format
 */
export function unpackLz4(packed: Buffer): Buffer {
  const out = { bytes: Buffer.allocUnsafe(Math.max(4 * packed.length, 65_536)), at: 0 };
  for (let from = 0; from < packed.length; ) from = unpackFrame(packed, from, out);
  return out.bytes.subarray(0, out.at);
}

interface Out {
  bytes: Buffer;
  at: number;
}

/** Format: lz4/lz4, lz4_Frame_format.md. Returns where the frame ends. */
function unpackFrame(packed: Buffer, begin: number, out: Out): number {
  if (packed.readUInt32LE(begin) !== magic) throw new RangeError('The batch is not an LZ4 frame.');
  const has = (flag: number): boolean => (packed.readUInt8(begin + 4) & flag) !== 0;
  const largestBlock = 2 ** (8 + 2 * ((packed.readUInt8(begin + 5) >>> 4) & 7));
  let from = begin + 7 + (has(flags.contentSize) ? 8 : 0) + (has(flags.dictionary) ? 4 : 0);
  for (;;) {
    const size = packed.readUInt32LE(from);
    from += 4;
    if (size === 0) return from + (has(flags.contentChecksum) ? 4 : 0);
    makeRoom(out, largestBlock);
    const length = size % isUnpacked;
    if (length === size) unpackBlock(packed.subarray(from, from + length), out);
    else out.at = copyBytes(packed, from, length, out.bytes, out.at);
    from += length + (has(flags.blockChecksum) ? 4 : 0);
  }
}

/** Blocks may refer to earlier ones, so all of them are in one buffer. */
function makeRoom(out: Out, wanted: number): void {
  if (out.at + wanted <= out.bytes.length) return;
  const larger = Buffer.allocUnsafe(2 * out.bytes.length + wanted);
  out.bytes.copy(larger, 0, 0, out.at);
  out.bytes = larger;
}

/** Format: lz4/lz4, lz4_Block_format.md. */
function unpackBlock(packed: Buffer, out: Out): void {
  let from = 0;
  /** A length of four bits continues in further bytes if all four are set. */
  const lengthOf = (bits: number): number => {
    let length = bits;
    for (let more = bits === 15; more; from += 1) {
      const byte = packed.readUInt8(from);
      length += byte;
      more = byte === 255;
    }
    return length;
  };
  while (from < packed.length) {
    const token = packed.readUInt8(from);
    from += 1;
    const literals = lengthOf(token >>> 4);
    out.at = copyBytes(packed, from, literals, out.bytes, out.at);
    from += literals;
    // The last sequence is literals only.
    if (from === packed.length) return;
    const distance = packed.readUInt16LE(from);
    from += 2;
    out.at = repeatBytes(out.bytes, out.at, distance, lengthOf(token & 15) + shortestRepeat);
  }
}
