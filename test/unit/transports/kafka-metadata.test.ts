import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AnswerFrames } from '../../../src/transports/kafka/metadata-tolerance.ts';

interface Metadata {
  readonly topicMetadata: readonly {
    readonly topicErrorCode: number;
    readonly topic: string;
    readonly partitionMetadata: readonly { readonly partitionErrorCode: number; readonly leader: number }[];
  }[];
}
interface Codec {
  readonly decode: (bytes: Buffer) => Promise<Metadata>;
  readonly parse: (data: Metadata) => Promise<Metadata>;
}
const load = createRequire(import.meta.url);
const codecOf = (version: number): Codec =>
  load(`kafkajs/src/protocol/requests/metadata/v${version}/response`) as Codec;

const int8 = (value: number): Buffer => Buffer.from([value]);
const int16 = (value: number): Buffer => Buffer.from([(value >> 8) & 255, value & 255]);
const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const text = (value: string | null): Buffer =>
  value === null ? int16(-1) : Buffer.concat([int16(value.length), Buffer.from(value)]);
const list = (items: readonly Buffer[]): Buffer => Buffer.concat([int32(items.length), ...items]);
const since = (version: number, first: number, bytes: Buffer): Buffer =>
  version >= first ? bytes : Buffer.alloc(0);
const framed = (correlationId: number, body: Buffer): Buffer =>
  Buffer.concat([int32(body.length + 4), int32(correlationId), body]);

/** A healthy topic, one with a partition without a leader, and one that was deleted. */
function metadataBody(version: number): Buffer {
  const replicas = list([int32(1), int32(2)]);
  const partition = (error: number, id: number, leader: number): Buffer =>
    Buffer.concat([int16(error), int32(id), int32(leader), replicas, replicas, since(version, 5, replicas)]);
  const topic = (error: number, name: string, partitions: readonly Buffer[]): Buffer =>
    Buffer.concat([int16(error), text(name), since(version, 1, int8(0)), list(partitions)]);
  const broker = Buffer.concat([int32(1), text('localhost'), int32(9092), since(version, 1, text(null))]);
  return Buffer.concat([
    since(version, 3, int32(0)),
    list([broker]),
    since(version, 2, text('cluster')),
    since(version, 1, int32(1)),
    list([
      topic(0, 'healthy', [partition(0, 0, 1)]),
      topic(0, 'half', [partition(0, 0, 1), partition(5, 1, -1)]),
      topic(3, 'deleted', []),
    ]),
  ]);
}

function request(apiKey: number, version: number, correlationId: number): Buffer {
  return Buffer.concat([int32(10), int16(apiKey), int16(version), int32(correlationId), text('me')]);
}

for (const version of [0, 1, 2, 3, 4, 5, 6]) {
  test(`metadata of version ${version} with errors in it becomes readable, and says the same per topic`, async () => {
    const { decode, parse } = codecOf(version);
    await expect(decode(metadataBody(version)).then(parse)).rejects.toThrow(/./);
    const frames = new AnswerFrames();
    frames.sent(request(3, version, 11));

    const [frame = Buffer.alloc(0)] = frames.receive(framed(11, metadataBody(version)));

    const { topicMetadata } = await decode(frame.subarray(8)).then(parse);
    expect(
      topicMetadata.map(({ topic, partitionMetadata }) => [
        topic,
        partitionMetadata.map(({ leader }) => leader),
      ]),
    ).toEqual([
      ['healthy', [1]],
      ['half', [1, -1]],
      ['deleted', []],
    ]);
  });
}

test('answers to other requests pass untouched, and so does metadata of an unknown version', () => {
  for (const [apiKey, version] of [
    [0, 7],
    [3, 7],
  ] as const) {
    const frames = new AnswerFrames();
    frames.sent(request(apiKey, version, 11));
    const original = framed(11, metadataBody(6));
    expect(frames.receive(Buffer.from(original))).toEqual([original]);
  }
});

test('metadata that cannot be followed to its end passes as it came', () => {
  const frames = new AnswerFrames();
  frames.sent(request(3, 6, 11));
  const cut = framed(11, metadataBody(6).subarray(0, -3));
  expect(frames.receive(Buffer.from(cut))).toEqual([cut]);
});

test('answers are whole again however the network cut them', () => {
  const answers = [
    framed(1, Buffer.from('one')),
    framed(2, Buffer.alloc(0)),
    framed(3, Buffer.alloc(5_000, 7)),
  ];
  const all = Buffer.concat(answers);
  fc.assert(
    fc.property(fc.array(fc.nat(all.length)), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), all.length];
      const frames = new AnswerFrames();
      const received = places
        .slice(1)
        .flatMap((end, index) => frames.receive(Buffer.from(all.subarray(places[index], end))));
      expect(received).toEqual(answers);
    }),
  );
});
