import fc from 'fast-check';
import kafkajs from 'kafkajs';
import { afterEach, expect, test } from 'vitest';
import { readEveryCodec } from '../../../../src/brokers/kafka/client/codecs.ts';
import { unpackLz4 } from '../../../../src/brokers/kafka/client/unpack-lz4.ts';
import { unpackSnappy } from '../../../../src/brokers/kafka/client/unpack-snappy.ts';

const { CompressionCodecs, CompressionTypes } = kafkajs;
const before = { ...CompressionCodecs };
afterEach(() => void Object.assign(CompressionCodecs, before));

/** `abc`, and then 7 bytes from three bytes back. */
const snappyBlock = Buffer.from([10, 2 << 2, 97, 98, 99, ((7 - 4) << 2) | 1, 3]);
const lz4Head = (flags: number): number[] => [0x04, 0x22, 0x4d, 0x18, flags, 0x40, 0x00];
const lz4Block = [0x33, 97, 98, 99, 3, 0, 0x30, 120, 121, 122];

test('Snappy is read without framing, as librdkafka sends it', { tags: ['every-codec-read'] }, () => {
  expect(unpackSnappy(snappyBlock).toString()).toBe('abcabcabca');
});

test('Snappy is read with lengths and distances of every width', () => {
  const long = Buffer.alloc(300, 'x');
  const packed = Buffer.concat([
    Buffer.from([0xb5, 0x02, 61 << 2, 299 & 255, 299 >> 8]),
    long,
    Buffer.from([((5 - 1) << 2) | 2, 44, 1]),
    Buffer.from([((4 - 1) << 2) | 3, 44, 1, 0, 0]),
  ]);
  expect(unpackSnappy(packed).toString()).toBe('x'.repeat(309));
});

test('LZ4 is read with and without checksums and sizes, in several frames', () => {
  const size = [lz4Block.length, 0, 0, 0];
  const sum = [1, 2, 3, 4];
  const plain = [...lz4Head(0x60), ...size, ...lz4Block, 0, 0, 0, 0];
  const full = [
    ...lz4Head(0x7c).slice(0, 6),
    ...sum,
    ...sum,
    0,
    ...size,
    ...lz4Block,
    ...sum,
    3,
    0,
    0,
    0x80,
    113,
    114,
    115,
    ...sum,
    0,
    0,
    0,
    0,
    ...sum,
  ];
  expect(unpackLz4(Buffer.from([...plain, ...full])).toString()).toBe('abcabcabcaxyzabcabcabcaxyzqrs');
});

test('a codec decodes or refuses any bytes, and reads nothing outside them', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.boolean(), (bytes, framed) => {
      // A length of a few bytes, so that a broken one does not ask for gigabytes.
      const snappy = Buffer.from([40, ...bytes]);
      const lz4 = Buffer.from([
        ...lz4Head(framed ? 0x60 : 0x7c),
        bytes.length,
        0,
        0,
        0,
        ...bytes,
        0,
        0,
        0,
        0,
      ]);
      for (const unpack of [() => unpackSnappy(snappy), () => unpackLz4(lz4)]) {
        try {
          expect(unpack()).toBeInstanceOf(Buffer);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }
    }),
  );
});

test('a codec that the application has registered with kafkajs is kept, and the others are added', async () => {
  const own = () => ({ decompress: async (packed: Buffer) => packed });
  CompressionCodecs[CompressionTypes.LZ4] = own;
  readEveryCodec();
  expect(CompressionCodecs[CompressionTypes.LZ4]).toBe(own);
  const codec = CompressionCodecs[CompressionTypes.Snappy]() as {
    decompress(packed: Buffer): Promise<Buffer>;
  };
  expect((await codec.decompress(snappyBlock)).toString()).toBe('abcabcabca');
  await expect(codec.decompress(Buffer.from([200, 1, 0]))).rejects.toThrow(
    /^A batch in Snappy cannot be unpacked/,
  );
});
