import { expect, test } from 'vitest';
import { unattendedLines } from '../../../src/cli/consumer-table.ts';

const group = {
  group: 'billing',
  parked: 2,
  oldestParkedMs: 1,
  parkedKeys: 1,
  blockedKeys: 0,
  failed: 0,
  oldestFailedMs: null,
  windowMs: null,
  seenMs: 20_000,
};
const consumer = {
  id: 'a',
  group: 'billing',
  host: 'here',
  pid: 1,
  version: '1',
  startedAt: new Date(0),
  seenMs: 1,
  alive: true,
  partitions: [],
};
const lags = [
  { group: 'billing', topic: 'orders', messages: 280 },
  { group: 'billing', topic: 'bills', messages: 5 },
];

test('a group for which messages wait while no consumer runs is named, and no other', () => {
  expect(unattendedLines({ groups: [group], consumers: [{ ...consumer, alive: false }], lags })).toEqual([
    'No consumer of billing runs, for 20.0 s: 285 messages wait unread, 2 parked.',
  ]);
  expect(unattendedLines({ groups: [group], consumers: [consumer], lags })).toEqual([]);
  expect(unattendedLines({ groups: [{ ...group, parked: 0 }], consumers: [], lags: [] })).toEqual([]);
});
