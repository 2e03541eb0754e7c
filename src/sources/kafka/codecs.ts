import { decompress as unpackZstd } from 'fzstd';
import kafkajs from 'kafkajs';
import { unpackLz4 } from './unpack-lz4.ts';
import { unpackSnappy } from './unpack-snappy.ts';

// Not among the names that Node finds in this CommonJS module.
const { CompressionCodecs, CompressionTypes } = kafkajs;

const unpackers = [
  { type: CompressionTypes.Snappy, name: 'Snappy', unpack: unpackSnappy },
  { type: CompressionTypes.LZ4, name: 'LZ4', unpack: unpackLz4 },
  { type: CompressionTypes.ZSTD, name: 'zstd', unpack: (packed: Buffer) => Buffer.from(unpackZstd(packed)) },
] as const;

/**
 * Lets kafkajs read what is packed in Snappy, LZ4 or zstd. It knows gzip alone, and a single batch in another codec ends
 * the membership, with all topics, again and again; brokers pack by themselves where a topic has a `compression.type`.
 *
 * Codecs that the application has given to kafkajs stay. Nothing is packed: kafkajs refuses to send in these.
 */
export function readEveryCodec(): void {
  for (const { type, name, unpack } of unpackers) {
    if (isGiven(type)) continue;
    CompressionCodecs[type] = () => ({
      compress: () => Promise.reject(new Error(`Messages are not sent in ${name}.`)),
      async decompress(packed: Buffer) {
        try {
          return unpack(packed);
        } catch (cause) {
          throw new Error(`A batch in ${name} cannot be unpacked.`, { cause });
        }
      },
    });
  }
}

/** In the place of a codec kafkajs has a function that throws. */
function isGiven(type: (typeof unpackers)[number]['type']): boolean {
  try {
    CompressionCodecs[type]();
    return true;
  } catch {
    return false;
  }
}
