import { copyBytes, repeatBytes } from './back-reference.ts';

/** Header of Java's producers, followed by two versions, and blocks with their lengths. librdkafka sends one bare block. */
const framed = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const frameHeaderBytes = 16;

/**
 * Unpacks a Snappy batch, framed or bare.
 *
 * @throws RangeError if it is not in that format
 */
export function unpackSnappy(packed: Buffer): Buffer {
  if (!packed.subarray(0, framed.length).equals(framed)) return unpackBlock(packed);
  const blocks: Buffer[] = [];
  for (let at = frameHeaderBytes; at < packed.length; ) {
    const begin = at + 4;
    const end = begin + packed.readInt32BE(at);
    if (end < begin || end > packed.length) throw new RangeError('The batch ends too early.');
    blocks.push(unpackBlock(packed.subarray(begin, end)));
    at = end;
  }
  return Buffer.concat(blocks);
}

/** Format: google/snappy, format_description.txt. */
function unpackBlock(packed: Buffer): Buffer {
  let from = 0;
  let size = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = packed.readUInt8(from);
    from += 1;
    size += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  while (from < packed.length) {
    const tag = packed.readUInt8(from);
    from += 1;
    if ((tag & 3) === 0) {
      let length = tag >>> 2;
      if (length >= 60) {
        const lengthBytes = length - 59;
        length = packed.readUIntLE(from, lengthBytes);
        from += lengthBytes;
      }
      at = copyBytes(packed, from, length + 1, bytes, at);
      from += length + 1;
    } else if ((tag & 3) === 1) {
      at = repeatBytes(bytes, at, ((tag >>> 5) << 8) | packed.readUInt8(from), ((tag >>> 2) & 7) + 4);
      from += 1;
    } else {
      const distanceBytes = (tag & 3) === 2 ? 2 : 4;
      at = repeatBytes(bytes, at, packed.readUIntLE(from, distanceBytes), (tag >>> 2) + 1);
      from += distanceBytes;
    }
  }
  if (at !== size) throw new RangeError('The batch ends too early.');
  return bytes;
}
