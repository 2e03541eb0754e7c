import { expect, test } from 'vitest';
import { inOrder, type TimelineEntry } from '../../../src/operations/timeline/entry.ts';

const entry = (minute: number | null, detail: string): TimelineEntry => ({
  at: minute === null ? null : new Date(minute * 60_000),
  what: minute === null ? 'gap' : 'operator',
  where: 'outbox',
  detail,
});

test('entries of several places are one list by time, and what has no time follows what its place says before it', () => {
  const here = [entry(4, 'last'), entry(1, 'first'), entry(null, 'after the first')];
  const there = [entry(null, 'nothing before it'), entry(2, 'second')];

  expect(inOrder([here, there]).map(({ detail }) => detail)).toEqual([
    'first',
    'after the first',
    'second',
    'last',
    'nothing before it',
  ]);
});
