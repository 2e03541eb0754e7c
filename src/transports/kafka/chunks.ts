import type { OutgoingMessage } from '../transport.ts';

/** Fixed part of a record batch: offsets, epoch, checksum, producer, count. */
const batchOverheadBytes = 61;
/** Attributes (1), time delta (1, all records of a batch carry one time), offset delta (up to 3). */
const recordOverheadBytes = 5;
/** A batch larger than this gains nothing and costs memory, whatever the topic allows. */
const largestChunkBytes = 4 * 1_024 * 1_024;

/** The size of a message in a record batch, in bytes; exact but for two bytes of its place in the batch. */
export function encodedSize(message: OutgoingMessage): number {
  let body = recordOverheadBytes + textSize(message.payload);
  body += message.key === null ? 1 : textSize(message.key);
  let headers = 0;
  for (const name in message.headers) {
    headers += 1;
    body += textSize(name) + textSize(message.headers[name] ?? '');
  }
  body += varintSize(headers);
  return varintSize(body) + body;
}

/**
 * Cuts messages, given by their places in a batch, into runs whose record batch stays within `maxBytes`. A message that
 * is too large alone is a run of its own: only the broker may say that it is refused.
 */
export function chunksOf(
  messages: readonly OutgoingMessage[],
  places: readonly number[],
  maxBytes: number,
): (readonly number[])[] {
  const limit = Math.min(maxBytes, largestChunkBytes) - batchOverheadBytes;
  const chunks: (readonly number[])[] = [];
  let start = 0;
  let bytes = 0;
  for (const [index, place] of places.entries()) {
    const message = messages[place];
    const size = message === undefined ? 0 : encodedSize(message);
    if (index > start && bytes + size > limit) {
      chunks.push(places.slice(start, index));
      start = index;
      bytes = 0;
    }
    bytes += size;
  }
  if (start < places.length) chunks.push(start === 0 ? places : places.slice(start));
  return chunks;
}

function textSize(text: string): number {
  const bytes = Buffer.byteLength(text);
  return varintSize(bytes) + bytes;
}

/** Lengths are written as zigzag varints: seven bits a byte, one bit lost to the sign. */
function varintSize(value: number): number {
  if (value < 64) return 1;
  if (value < 8_192) return 2;
  if (value < 1_048_576) return 3;
  return value < 134_217_728 ? 4 : 5;
}
