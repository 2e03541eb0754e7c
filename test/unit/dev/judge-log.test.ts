import { expect, test } from 'vitest';
import { type AuditRecord, type CommittedMessage, judgeLog } from '../../../dev/demo/judge-log.ts';

const dueAt = new Date('2026-01-01T12:00:00.500Z');

function message(id: string, position: number, changes: Partial<CommittedMessage> = {}): CommittedMessage {
  return { id, topic: 'orders', position: BigInt(position), state: 'published', dueAt: null, ...changes };
}

function record(id: string, offset: number, changes: Partial<AuditRecord> = {}): AuditRecord {
  const at = new Date(dueAt.getTime() + 1_000 + offset);
  return { id, topic: 'orders', key: 'mug', partition: 0, offset: BigInt(offset), at, ...changes };
}

const committed = [
  message('a', 1),
  message('b', 2),
  message('c', 3, { dueAt }),
  message('taken-back', 4, { state: 'canceled' }),
];
const log = [record('a', 0), record('b', 1), record('c', 2)];

test('a log that holds each message once and in order is flawless', () => {
  expect(judgeLog(committed, log)).toEqual({
    published: 3,
    duplicates: [],
    lost: [],
    ghosts: [],
    early: [],
    outOfOrder: [],
  });
});

test('a committed message without a record is lost, a canceled one is not', () => {
  const { lost, published } = judgeLog(committed, [record('a', 0), record('c', 1)]);
  expect(lost.map(({ id }) => id)).toEqual(['b']);
  expect(published).toBe(2);
});

test('a record that was never committed is a ghost', () => {
  expect(judgeLog(committed, [...log, record('rolled-back', 3)]).ghosts).toEqual([record('rolled-back', 3)]);
});

test('a record of a canceled message is a ghost', () => {
  expect(judgeLog(committed, [...log, record('taken-back', 3)]).ghosts).toEqual([record('taken-back', 3)]);
});

test('a record in the topic of another message is a ghost', () => {
  const strayed = record('b', 1, { topic: 'elsewhere' });
  expect(judgeLog(committed, [record('a', 0), strayed, record('c', 2)]).ghosts).toEqual([strayed]);
});

test('a record one millisecond before its due time is early, at the due time it is not', () => {
  const punctual = record('c', 2, { at: dueAt });
  const early = record('c', 2, { at: new Date(dueAt.getTime() - 1) });
  expect(judgeLog(committed, [...log.slice(0, 2), punctual]).early).toEqual([]);
  expect(judgeLog(committed, [...log.slice(0, 2), early]).early).toEqual([early]);
});

test('a first record behind a later message of its key is out of order', () => {
  const swapped = [record('b', 0), record('a', 1), record('c', 2)];
  expect(judgeLog(committed, swapped).outOfOrder).toEqual([record('a', 1)]);
});

test('records are judged by their offsets, not by the order in which they were read', () => {
  expect(judgeLog(committed, log.toReversed()).outOfOrder).toEqual([]);
});

test('messages of different keys, or without a key, have no order', () => {
  const unrelated = [record('b', 0, { key: 'teapot' }), record('a', 1), record('c', 2)];
  const keyless = [record('b', 0, { key: null }), record('a', 1, { key: null }), record('c', 2)];
  expect(judgeLog(committed, unrelated).outOfOrder).toEqual([]);
  expect(judgeLog(committed, keyless).outOfOrder).toEqual([]);
});

test('a key in two partitions is out of order', () => {
  const elsewhere = record('c', 0, { partition: 1 });
  expect(judgeLog(committed, [record('a', 0), record('b', 1), elsewhere]).outOfOrder).toEqual([elsewhere]);
});

test('a second record is a duplicate and breaks no order', () => {
  const again = [...log, record('a', 3), record('b', 4)];
  expect(judgeLog(committed, again)).toMatchObject({
    published: 3,
    duplicates: [record('a', 3), record('b', 4)],
    ghosts: [],
    outOfOrder: [],
  });
});
