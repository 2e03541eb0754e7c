import { decompress as unpackZstd } from 'fzstd';
import { kafkajs } from './kafkajs.ts';
import { unpackLz4 } from './unpack-lz4.ts';
import { unpackSnappy } from './unpack-snappy.ts';

const unpackers = [
  { codec: 'Snappy', name: 'Snappy', unpack: unpackSnappy },
  { codec: 'LZ4', name: 'LZ4', unpack: unpackLz4 },
  { codec: 'ZSTD', name: 'zstd', unpack: (packed: Buffer) => Buffer.from(unpackZstd(packed)) },
] as const;

/**
 * Lets kafkajs read batches in Snappy, LZ4 or zstd. By itself it supports only gzip, and a single batch in another codec
 * repeatedly ends the membership, for all topics; brokers recompress batches if a topic has a `compression.type`.
 *
 * Unpacking is done in JavaScript: native codecs are faster, but do not install everywhere.
 *
 * Codecs that the application has registered in kafkajs stay. Compression is not supported: kafkajs refuses to send in these.
 */
export function readEveryCodec(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs();
  for (const { codec, name, unpack } of unpackers) {
    const type = CompressionTypes[codec];
    if (isGiven(CompressionCodecs[type])) continue;
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

/** For a missing codec kafkajs has a function that throws. */
function isGiven(codec: () => unknown): boolean {
  try {
    codec();
    return true;
  } catch {
    return false;
  }
}
