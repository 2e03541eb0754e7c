import { createRequire } from 'node:module';
import fc from 'fast-check';
import type { KafkaMessage } from 'kafkajs';
import type { FetchResponse } from '../../../../src/brokers/kafka/client/fetch-response.ts';

const require = createRequire(import.meta.url);

interface Encoded {
  readonly buffer: Buffer;
}
export type Message = KafkaMessage & {
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly inTransaction: boolean; readonly producerId: string };
};
export type Response = Omit<FetchResponse, 'responses'> & {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly { readonly messages: readonly Message[] }[];
  }[];
};
export const encodeRecord = require('kafkajs/src/protocol/recordBatch/record/v0') as (
  record: object,
) => Encoded;
export const { RecordBatch: encodeBatch } = require('kafkajs/src/protocol/recordBatch/v0') as {
  readonly RecordBatch: (batch: object) => Promise<Encoded>;
};
export const { decode: decodeByKafkajs } = require('kafkajs/src/protocol/requests/fetch/v11/response') as {
  readonly decode: (raw: Buffer) => Promise<Response>;
};
export const Batch = require('kafkajs/src/consumer/batch') as new (
  topic: string,
  offset: string,
  partition: unknown,
) => {
  readonly messages: readonly KafkaMessage[];
  readonly rawMessages: unknown;
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
export const batch = fc.record({
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
export type BatchSpec = typeof batch extends fc.Arbitrary<infer Spec> ? Spec : never;

/** Of the control record that ends a transaction. */
export const [abortKey, commitKey] = [Buffer.from([0, 0, 0, 0]), Buffer.from([0, 0, 0, 1])];

export const attributesAt = 8 + 4 + 9;

export async function encoded({ appendTime, control, records, step, ...rest }: BatchSpec): Promise<Buffer> {
  const { buffer } = await encodeBatch({
    ...rest,
    maxTimestamp: rest.firstTimestamp,
    lastOffsetDelta: records.length * step,
    records: records.map((one, n) =>
      encodeRecord({
        ...one,
        ...(control && { key: one.key?.equals(abortKey) === true ? abortKey : commitKey }),
        offsetDelta: n * step,
      }),
    ),
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
export function answer(partitions: readonly Buffer[], aborted: readonly number[] = []): Buffer {
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
