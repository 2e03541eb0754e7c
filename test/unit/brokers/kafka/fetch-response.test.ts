import fc from 'fast-check';
import type { KafkaMessage } from 'kafkajs';
import { expect, test } from 'vitest';
import { OldFormat, readFetchResponse } from '../../../../src/brokers/kafka/client/fetch-response.ts';
import { AnswerEnd, FetchedRecord } from '../../../../src/brokers/kafka/client/fetched-record.ts';
import { headerText } from '../../../../src/brokers/kafka/client/record-text.ts';
import {
  answer,
  Batch,
  batch,
  decodeByKafkajs,
  encodeBatch,
  encoded,
  encodeRecord,
  type Message,
  type Response,
} from './fetch-bench.ts';

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

test('a fetch response is read as by kafkajs, wherever it is cut off', {
  tags: ['read-as-kafkajs-reads'],
}, async () => {
  const specs = fc.array(fc.array(batch, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });
  // Of one producer: where several have aborted transactions at once, kafkajs hands over some of them.
  await fc.assert(
    fc.asyncProperty(
      specs,
      fc.nat(),
      fc.subarray([0, 1, 2, 3], { maxLength: 1 }),
      async (partitions, cut, aborted) => {
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
            const rest = { messages: [], abortedTransactions: [] };
            expect({ ...mine, ...rest }).toEqual({ ...their, ...rest });
            expectSame(handed(mine), handed(their));
          }
        }
      },
    ),
    { numRuns: 25 },
  );
});

function expectSame(own: readonly Message[], theirs: readonly Message[]): void {
  expect(own.map(plain)).toEqual(theirs.map(plain));
  for (const [n, one] of own.entries()) {
    const { headers } = theirs[n] ?? {};
    for (const asked of [...names, ...Object.keys(headers ?? {})])
      expect(one instanceof FetchedRecord && one.header(asked)).toBe(headerText(headers, asked));
  }
}

const names = ['ce_id', 'ce_type', 'é', 'x'.repeat(70), '', 'none'];

/** What kafkajs hands over: no control records, and nothing of aborted transactions. */
function handed(partition: unknown): readonly Message[] {
  const { messages } = new Batch('orders', '0', partition);
  return (messages as readonly Message[]).filter((one) => !(one instanceof AnswerEnd));
}

test('a batch of an older format is left to kafkajs, and a record that exceeds its batch is refused', {
  tags: ['read-as-kafkajs-reads'],
}, async () => {
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
