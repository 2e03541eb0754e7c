import { expect, test } from 'vitest';
import { type Appended, lateness, timesOfEachOnce } from '../../../bench/contenders/validity.ts';

const appended = (...records: readonly (readonly [string | null, number])[]): readonly Appended[] =>
  records.map(([id, atMs]) => ({ id, at: new Date(atMs) }));

test('a log with every message once gives its times in ascending order', () => {
  expect(timesOfEachOnce('topic', appended(['b', 20], ['a', 10], ['c', 20]), 3)).toEqual([10, 20, 20]);
});

test.for([
  { what: 'a message is missing', records: appended(['a', 1], ['b', 2]), found: '2 records with 2 ids' },
  {
    what: 'a message is recorded twice',
    records: appended(['a', 1], ['b', 2], ['c', 3], ['a', 4]),
    found: '4 records with 3 ids',
  },
  {
    what: 'one is recorded twice instead of another',
    records: appended(['a', 1], ['b', 2], ['a', 3]),
    found: '3 records with 2 ids',
  },
  {
    what: 'a foreign message is recorded',
    records: appended(['a', 1], ['b', 2], ['c', 3], ['d', 4]),
    found: '4 records with 4 ids',
  },
])('a figure is refused when $what', ({ found, records }) => {
  expect(() => timesOfEachOnce('topic', records, 3)).toThrow(`topic has ${found}, not 3.`);
});

test('records without an id do not count as different messages', () => {
  expect(() => timesOfEachOnce('topic', appended([null, 1], [null, 2]), 2)).toThrow('2 records with 1 ids');
});

test('lateness counts from the due time, where it is zero', () => {
  expect(lateness('ours', [1_000, 1_000, 1_250], 1_000)).toEqual([0, 0, 250]);
});

test('a figure is refused when a message is a millisecond early', () => {
  expect(() => lateness('pgBoss', [999, 1_250], 1_000)).toThrow('pgBoss sent a message 1 ms early.');
});
