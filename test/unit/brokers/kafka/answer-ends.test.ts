import { expect, test } from 'vitest';
import { readFetchResponse } from '../../../../src/brokers/kafka/client/fetch-response.ts';
import { AnswerEnd } from '../../../../src/brokers/kafka/client/fetched-record.ts';
import { stage, tick } from './batch-stage.ts';
import { abortKey, answer, attributesAt, Batch, type BatchSpec, commitKey, encoded } from './fetch-bench.ts';

/** What is left of a batch of these offsets after compaction: records 0 to `kept`. */
async function compacted(
  firstOffset: number,
  kept: number,
  lastOffsetDelta: number,
  of: Partial<BatchSpec> = {},
) {
  return encoded({
    firstOffset,
    firstTimestamp: 5,
    compression: 0,
    transactional: true,
    appendTime: false,
    control: false,
    producerId: 1,
    step: 1,
    records: Array.from({ length: kept }, () => ({
      timestampDelta: 0,
      key: null,
      value: Buffer.from('a'),
      headers: {},
    })),
    ...of,
  }).then((buffer) => {
    buffer.writeInt32BE(lastOffsetDelta, attributesAt + 2);
    return buffer;
  });
}

/** What kafkajs makes of an answer to a fetch at this offset. */
async function fetched(offset: number, batches: readonly Buffer[], aborted: readonly number[] = [1]) {
  const { responses } = await readFetchResponse(answer([Buffer.concat(batches)], aborted));
  return new Batch('orders', String(offset), responses[0]?.partitions[0]);
}

test('batches emptied by compaction are skipped in one fetch, also where the next batch is cut off', async () => {
  const empty = await compacted(10, 0, 9);
  const next = (await compacted(20, 5, 4)).subarray(0, -3);

  expect((await fetched(10, [empty, next])).messages).toEqual([new AnswerEnd(19n)]);
  expect((await fetched(10, [empty, next])).lastOffset()).toBe('19');
  expect((await fetched(10, [empty, await compacted(20, 0, 4)])).lastOffset()).toBe('24');
  // Of 30 to 39 the first three are left, and the group has read to 35.
  expect((await fetched(35, [await compacted(30, 3, 9)])).lastOffset()).toBe('39');
});

test('an answer says where it ends if its last records may be handed over to nobody', async () => {
  const ends = async (...batches: readonly Buffer[]) =>
    (await fetched(0, batches)).messages.map((one) => [one.offset, one instanceof AnswerEnd]);
  const emptied = await compacted(20, 0, 4);
  const aborted = await compacted(10, 2, 1);

  expect(await ends(aborted)).toEqual([['11', true]]);
  expect(await ends(aborted, emptied)).toEqual([['24', true]]);
  expect(await ends(await compacted(5, 1, 0, { producerId: 2 }), emptied)).toEqual([
    ['5', false],
    ['24', true],
  ]);
  expect(await ends(await compacted(5, 1, 0, { transactional: false }))).toEqual([['5', false]]);
});

/** Records of a transaction, or its end. */
const written = (producerId: number, firstOffset: number, kept = 1) =>
  compacted(firstOffset, kept, kept - 1, { producerId });
const ended = (producerId: number, firstOffset: number, key: Buffer<ArrayBuffer>) =>
  compacted(firstOffset, 1, 0, {
    producerId,
    control: true,
    records: [{ timestampDelta: 0, key, value: null, headers: {} }],
  });

test('nothing of aborted transactions is handed over, of however many producers, nor what is not aborted held back', {
  tags: ['read-as-kafkajs-reads'],
}, async () => {
  const batches = await Promise.all([
    written(1, 10),
    written(2, 11, 2),
    written(3, 13),
    ended(1, 14, abortKey),
    written(1, 15),
    ended(3, 16, commitKey),
    ended(1, 17, commitKey),
    ended(2, 18, abortKey),
    written(2, 19),
    ended(2, 20, commitKey),
  ]);
  const offsets = async (from: number, aborted: readonly number[]) =>
    (await fetched(from, batches, aborted)).messages.map(({ offset }) => offset);

  expect(await offsets(10, [1, 2])).toEqual(['13', '15', '19', '20']);
  // The transactions began before what is asked for.
  expect(await offsets(12, [1, 2])).toEqual(['13', '15', '19', '20']);
  expect(await offsets(12, [2, 1])).toEqual(['13', '15', '19', '20']);
  expect(await offsets(10, [])).toEqual(['10', '11', '12', '13', '15', '19', '20']);
});

test('a batch says that it was cut if the broker has more of its partition, open transactions aside', async () => {
  // The last stable offset is 80.
  const [first, last] = await Promise.all([
    fetched(70, [await compacted(70, 3, 8, { producerId: 2 })]),
    fetched(70, [await compacted(70, 3, 9, { producerId: 2 })]),
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
