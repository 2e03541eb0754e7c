import { createRequire } from 'node:module';
import fc from 'fast-check';
import type { KafkaMessage } from 'kafkajs';
import { expect, test } from 'vitest';
import {
  type FetchResponse,
  OldFormat,
  readFetchResponse,
} from '../../../../src/brokers/kafka/client/fetch-response.ts';
import { headerText } from '../../../../src/brokers/kafka/client/record-text.ts';
import { stage, tick } from './batch-stage.ts';

const require = createRequire(import.meta.url);

interface Encoded {
  readonly buffer: Buffer;
}
type Message = KafkaMessage & {
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly inTransaction: boolean; readonly producerId: string };
};
type Response = Omit<FetchResponse, 'responses'> & {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly { readonly messages: readonly Message[] }[];
  }[];
};
const encodeRecord = require('kafkajs/src/protocol/recordBatch/record/v0') as (record: object) => Encoded;
const { RecordBatch: encodeBatch } = require('kafkajs/src/protocol/recordBatch/v0') as {
  readonly RecordBatch: (batch: object) => Promise<Encoded>;
};
const { decode: decodeByKafkajs } = require('kafkajs/src/protocol/requests/fetch/v11/response') as {
  readonly decode: (raw: Buffer) => Promise<Response>;
};
const Batch = require('kafkajs/src/consumer/batch') as new (
  topic: string,
  offset: string,
  partition: unknown,
) => {
  readonly messages: readonly KafkaMessage[];
  readonly rawMessages: unknown;
  isEmptyDueToFiltering(): boolean;
  lastOffset(): string;
};

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 80 }).map((some) => Buffer.from(some)),
  fc.constantFrom(63, 64, 8_191, 8_192).map((size) => Buffer.alloc(size, 'x')),
);
const name = fc.oneof(
  fc.constantFrom('ce_id', 'ce_type', 'é', 'x'.repeat(70), ''),
  fc.stringMatching(/^[a-z_-]{1,20}$/).filter((one) => !(one in {})),
);
const record = fc.record({
  timestampDelta: fc.integer({ min: -10_000, max: 100_000_000 }),
  key: fc.option(bytes),
  value: fc.option(bytes),
  // A name that occurs repeatedly has an array.
  headers: fc.dictionary(name, fc.oneof(bytes, fc.array(bytes, { minLength: 2, maxLength: 3 })), {
    maxKeys: 6,
  }),
});
const batch = fc.record({
  firstOffset: fc.oneof(fc.maxSafeNat(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 60n })),
  firstTimestamp: fc.maxSafeNat(),
  // None, and gzip, which kafkajs can write.
  compression: fc.constantFrom(0, 1),
  transactional: fc.boolean(),
  appendTime: fc.boolean(),
  control: fc.boolean(),
  producerId: fc.integer({ min: -1, max: 3 }),
  // Compaction leaves gaps.
  step: fc.constantFrom(1, 3, 200),
  records: fc.array(record, { maxLength: 20 }),
});
type BatchSpec = typeof batch extends fc.Arbitrary<infer Spec> ? Spec : never;

const attributesAt = 8 + 4 + 9;

async function encoded({ appendTime, control, records, step, ...rest }: BatchSpec): Promise<Buffer> {
  const { buffer } = await encodeBatch({
    ...rest,
    maxTimestamp: rest.firstTimestamp,
    lastOffsetDelta: records.length * step,
    records: records.map((one, n) => encodeRecord({ ...one, offsetDelta: n * step })),
  });
  buffer.writeInt16BE(
    buffer.readInt16BE(attributesAt) | (appendTime ? 0x8 : 0) | (control ? 0x20 : 0),
    attributesAt,
  );
  return buffer;
}

function int32(...values: readonly number[]): Buffer {
  const some = Buffer.alloc(4 * values.length);
  for (const [n, value] of values.entries()) some.writeInt32BE(value, 4 * n);
  return some;
}
function int64(...values: readonly (bigint | number)[]): Buffer {
  const some = Buffer.alloc(8 * values.length);
  for (const [n, value] of values.entries()) some.writeBigInt64BE(BigInt(value), 8 * n);
  return some;
}
const int16 = (value: number): Buffer => int32(value).subarray(2);

/** An answer with one topic, of whose partitions each has these bytes of batches. */
function answer(partitions: readonly Buffer[], aborted: readonly number[] = []): Buffer {
  const head = [int32(7), int16(0), int32(5), int32(1), int16(6), Buffer.from('orders')];
  return Buffer.concat([
    ...head,
    int32(partitions.length),
    ...partitions.flatMap((batches, n) => [
      int32(n),
      int16(0),
      int64(90, 80, 70),
      int32(aborted.length),
      ...aborted.map((producerId) => int64(producerId, 0)),
      int32(-1, batches.length),
      batches,
    ]),
  ]);
}

const textOf = (value: KafkaMessage['value'] | string | undefined): string | null =>
  value === null || value === undefined ? null : Buffer.from(value).toString('hex');

function plain({ batchContext, headers = {}, isControlRecord, key, offset, timestamp, value }: Message) {
  return {
    isControlRecord,
    offset,
    timestamp,
    key: textOf(key),
    value: textOf(value),
    inTransaction: batchContext.inTransaction,
    producerId: batchContext.producerId,
    headers: Object.entries(headers)
      .map(([one, values]) => [one, [values].flat().map(textOf)] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  };
}

test('a fetch response is read as by kafkajs, wherever it is cut off', async () => {
  const specs = fc.array(fc.array(batch, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(specs, fc.nat(), fc.subarray([0, 1, 2, 3]), async (partitions, cut, aborted) => {
      const sets = await Promise.all(
        partitions.map(async (batches) => {
          const whole = Buffer.concat(await Promise.all(batches.map(encoded)));
          // The first batch is always whole.
          const first = 12 + whole.readInt32BE(8);
          return whole.subarray(0, whole.length - (cut % (whole.length - first + 1)));
        }),
      );
      const raw = answer(sets, aborted);
      const [own, theirs] = [await readFetchResponse(raw), await decodeByKafkajs(raw)];

      const { responses: ownTopics, ...ownHead } = own as unknown as Response;
      const { responses: theirTopics, ...theirHead } = theirs;
      expect(ownHead).toEqual(theirHead);
      for (const [topic, { partitions: theirPartitions, topicName }] of theirTopics.entries()) {
        expect(ownTopics[topic]?.topicName).toBe(topicName);
        for (const [n, their] of theirPartitions.entries()) {
          const mine = ownTopics[topic]?.partitions[n] ?? { messages: [] };
          const recordsOnly = (one: { readonly messages: readonly Message[] }) => ({
            ...one,
            messages: withoutEnds(one.messages),
          });
          expect({ ...mine, messages: withoutEnds(mine.messages).map(plain) }).toEqual({
            ...their,
            messages: withoutEnds(their.messages).map(plain),
          });
          expect(handed(recordsOnly(mine))).toEqual(handed(recordsOnly(their)));
        }
      }
      const theirFirst = withoutEnds(theirTopics[0]?.partitions[0]?.messages ?? []);
      const ownFirst = (own.responses[0]?.partitions[0]?.messages ?? []).filter(
        (one) => withoutEnds([one as unknown as Message]).length > 0,
      );
      for (const [n, one] of ownFirst.entries()) {
        const { headers } = theirFirst[n] ?? {};
        for (const asked of [
          'ce_id',
          'ce_type',
          'é',
          'x'.repeat(70),
          '',
          'none',
          ...Object.keys(headers ?? {}),
        ])
          expect(one.header(asked)).toBe(headerText(headers, asked));
      }
    }),
    { numRuns: 60 },
  );
});

/**
 * Without the ends of batches, which kafkajs does not tell: control records without anything, of no transaction. A record
 * that is just so is left out of both.
 */
function withoutEnds(records: readonly Message[]): readonly Message[] {
  return records.filter(
    ({ batchContext, headers = {}, isControlRecord, key, value }) =>
      !isControlRecord ||
      batchContext.inTransaction ||
      key !== null ||
      value !== null ||
      Object.keys(headers).length > 0,
  );
}

/** What kafkajs hands over: no control records, and nothing of aborted transactions. */
function handed(partition: unknown): readonly string[] {
  const made = new Batch('orders', '0', partition);
  return [...made.messages.map(({ offset }) => offset), made.lastOffset()];
}

test('a batch of an older format is left to kafkajs, and a record that exceeds its batch is refused', async () => {
  const spec = {
    firstOffset: 1,
    firstTimestamp: 1,
    records: [encodeRecord({ offsetDelta: 0, value: 'abc' })],
  };
  const { buffer } = await encodeBatch(spec);
  const old = Buffer.from(buffer);
  old[16] = 1;
  await expect(readFetchResponse(answer([old]))).rejects.toBeInstanceOf(OldFormat);
  const broken = Buffer.from(buffer);
  broken[61] = 0x7e;
  await expect(readFetchResponse(answer([broken]))).rejects.toThrow('beyond the end of its batch');
});

/** What is left of a batch of these offsets after compaction: records 0 to `kept`. */
async function compacted(firstOffset: number, kept: number, lastOffsetDelta: number, control = false) {
  return encoded({
    firstOffset,
    firstTimestamp: 5,
    compression: 0,
    transactional: true,
    appendTime: false,
    control,
    producerId: 1,
    step: 1,
    records: Array.from({ length: kept }, () => ({
      timestampDelta: 0,
      key: null,
      value: Buffer.from('a'),
      headers: {},
    })),
  }).then((buffer) => {
    buffer.writeInt32BE(lastOffsetDelta, attributesAt + 2);
    return buffer;
  });
}

/** What kafkajs makes of an answer to a fetch at this offset. */
async function fetched(offset: number, ...batches: readonly Buffer[]) {
  const { responses } = await readFetchResponse(answer([Buffer.concat(batches)], [1]));
  return new Batch('orders', String(offset), responses[0]?.partitions[0]);
}

test('batches emptied by compaction are skipped in one fetch, also where the next batch is cut off', async () => {
  const empty = await compacted(10, 0, 9);
  const next = (await compacted(20, 5, 4)).subarray(0, -3);

  expect(await fetched(10, empty, next)).toMatchObject({ messages: [] });
  expect((await fetched(10, empty, next)).isEmptyDueToFiltering()).toBe(true);
  expect((await fetched(10, empty, next)).lastOffset()).toBe('19');
  expect((await fetched(10, empty, await compacted(20, 0, 4))).lastOffset()).toBe('24');
  // Of 30 to 39 the first three are left, and the group has read to 35.
  expect((await fetched(35, await compacted(30, 3, 9))).lastOffset()).toBe('39');
});

test('nothing follows the last record of a batch', async () => {
  const { responses } = await readFetchResponse(answer([await compacted(10, 3, 2)]));
  expect(responses[0]?.partitions[0]?.messages.map(({ offset }) => offset)).toEqual(['10', '11', '12']);
});

test('the end of an emptied batch ends no aborted transaction', async () => {
  const { messages } = await fetched(10, await compacted(10, 0, 9), await compacted(20, 2, 1));
  expect(messages).toEqual([]);
});

test('a batch says that it was cut if the broker has more of its partition, open transactions aside', async () => {
  // The last stable offset is 80.
  const [first, last] = await Promise.all([
    fetched(70, await compacted(70, 3, 8)),
    fetched(70, await compacted(70, 3, 9)),
  ]);
  const { batches, end, take, taken } = stage();
  const { payload } = await take(0, '70');
  for (const { rawMessages } of [first, last]) {
    await end();
    payload.batch.rawMessages = rawMessages;
    taken(payload);
    await tick();
  }

  expect(batches.map(({ cut }) => cut)).toEqual([false, true, false]);
});
