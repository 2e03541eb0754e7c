import { batchHeaderBytes } from './record-batch.ts';
import { largestRecord, type RecordSizes } from './record-sizes.ts';

/** A batch larger than this gains nothing and costs memory, whatever the topic allows. */
const largestChunkBytes = 4 * 1_024 * 1_024;

/**
 * Cuts messages, given by their indexes in a batch, into runs whose record batch stays within `maxBytes`. A message that
 * is too large alone is a run of its own: only the broker may say that it is refused.
 */
export function chunksOf(
  sizes: RecordSizes,
  indexes: readonly number[],
  maxBytes: number,
): (readonly number[])[] {
  const limit = Math.min(maxBytes, largestChunkBytes) - batchHeaderBytes;
  const chunks: (readonly number[])[] = [];
  let start = 0;
  let bytes = 0;
  for (const [n, index] of indexes.entries()) {
    const size = largestRecord(sizes, index);
    if (n > start && bytes + size > limit) {
      chunks.push(indexes.slice(start, n));
      start = n;
      bytes = 0;
    }
    bytes += size;
  }
  if (start < indexes.length) chunks.push(start === 0 ? indexes : indexes.slice(start));
  return chunks;
}
