import { expect, test } from 'vitest';
import { judgeStanding, type SeenGroup } from '../../../src/relay/judge-standing.ts';
import type { GroupNote } from '../../../src/store/installation/standing-groups.ts';

const nothing: GroupNote = { places: {} };
const afterMs = 1_000;

/** By partition, where the group is and where the partition ends; `null`: the group has committed nothing there. */
function seen(partitions: Readonly<Record<number, [string | null, string]>>, everywhere = false): SeenGroup {
  const all = Object.entries(partitions).map(([name, [at, end]]) => ({ partition: Number(name), at, end }));
  return {
    committed: new Map(all.flatMap(({ partition, at }) => (at === null ? [] : [[partition, at] as const]))),
    ends: new Map(all.map(({ partition, end }) => [partition, end])),
    everywhere,
  };
}

const at = (ms: number) => ({ beganMs: ms, endedMs: ms });

test('a partition stands from the first look that sees messages wait there, and is stalled after the time', () => {
  const first = judgeStanding(nothing, seen({ 0: ['5', '9'] }), at(100), afterMs);
  expect(first).toEqual({ places: { 0: { at: '5', sinceMs: 100, told: false } }, stalled: undefined });

  expect(judgeStanding(first, seen({ 0: ['5', '20'] }), at(1_099), afterMs).stalled).toBeUndefined();
  const stalled = judgeStanding(first, seen({ 0: ['5', '20'] }), at(1_100), afterMs);
  expect(stalled).toMatchObject({ stalled: { sinceMs: 100, partitions: [0] } });
  expect(judgeStanding(stalled, seen({ 0: ['5', '30'] }), at(9_000), afterMs)).toMatchObject({
    stalled: undefined,
  });
});

test('who moves, or has nothing to read, begins anew', () => {
  const before = { places: { 0: { at: '5', sinceMs: 0, told: true } } };
  for (const moved of ['6', '4'])
    expect(judgeStanding(before, seen({ 0: [moved, '9'] }), at(5_000), afterMs)).toEqual({
      places: { 0: { at: moved, sinceMs: 5_000, told: false } },
      stalled: undefined,
    });
  expect(judgeStanding(before, seen({ 0: ['9', '9'] }), at(5_000), afterMs)).toEqual({
    places: {},
    stalled: undefined,
  });
});

test('one partition that stands is a stall whatever the others do, and a second one is the same stall', {
  tags: ['on-stalled-called-once'],
}, () => {
  const before = {
    places: {
      0: { at: '5', sinceMs: 0, told: false },
      1: { at: '7', sinceMs: 500, told: false },
      10: { at: '1', sinceMs: 0, told: false },
    },
  };
  const now = seen({ 0: ['6', '9'], 1: ['7', '9'], 2: ['3', '3'], 10: ['1', '2'] });
  const stalled = judgeStanding(before, now, at(2_000), afterMs);
  expect(stalled.stalled).toEqual({ sinceMs: 0, partitions: [1, 10] });
  const later = judgeStanding(stalled, seen({ 0: ['6', '9'], 1: ['7', '9'] }), at(4_000), afterMs);
  expect(later).toMatchObject({ stalled: undefined });
});

test('a partition that stands once the told ones have moved is a stall of its own', () => {
  const both = seen({ 0: ['5', '9'], 1: ['7', '9'] });
  const begun = {
    places: { 0: { at: '5', sinceMs: 0, told: true }, 1: { at: '7', sinceMs: 900, told: false } },
  };
  expect(judgeStanding(begun, both, at(1_800), afterMs).stalled).toBeUndefined();
  const moved = judgeStanding(begun, seen({ 0: ['6', '9'], 1: ['7', '9'] }), at(1_900), afterMs);
  expect(moved.stalled).toEqual({ sinceMs: 900, partitions: [1] });

  const joined = judgeStanding(begun, both, at(2_000), afterMs);
  expect(joined.stalled).toBeUndefined();
  expect(
    judgeStanding(joined, seen({ 0: ['6', '9'], 1: ['7', '9'] }), at(2_100), afterMs).stalled,
  ).toBeUndefined();
});

test('a group that stands since a time in the future stands since now: the clock was set back', {
  tags: ['set-back-clock-silences-nothing'],
}, () => {
  const known = { places: { 0: { at: '5', sinceMs: 3_600_000, told: false } } };
  const now = judgeStanding(known, seen({ 0: ['5', '9'] }), at(1_000), afterMs);
  expect(now.places).toEqual({ 0: { at: '5', sinceMs: 1_000, told: false } });
  expect(judgeStanding(now, seen({ 0: ['5', '9'] }), at(2_000), afterMs).stalled).toEqual({
    sinceMs: 1_000,
    partitions: [0],
  });
});

test('the time that a broker took to answer does not count', () => {
  const first = judgeStanding(nothing, seen({ 0: ['5', '9'] }), { beganMs: 0, endedMs: 800 }, afterMs);
  const slow = { beganMs: 1_700, endedMs: 5_000 };
  expect(judgeStanding(first, seen({ 0: ['5', '9'] }), slow, afterMs).stalled).toBeUndefined();
});

test('where a group has committed nothing, messages wait only for one that has to read them', () => {
  const silent = { 0: [null, '9'], 1: ['9', '9'] } as const;
  expect(
    judgeStanding(nothing, seen({ 0: [...silent[0]], 1: [...silent[1]] }), at(0), afterMs).places,
  ).toEqual({});
  expect(
    judgeStanding(nothing, seen({ 0: [...silent[0]], 1: [...silent[1]] }, true), at(0), afterMs).places,
  ).toEqual({ 0: { at: null, sinceMs: 0, told: false } });
});

test('offsets beyond what a double holds differ by one', () => {
  const before = { places: { 0: { at: '166020696663385964544', sinceMs: 0, told: true } } };
  const moved = judgeStanding(
    before,
    seen({ 0: ['166020696663385964545', '166020696663385964546'] }),
    at(2_000),
    afterMs,
  );
  expect(moved.places[0]?.told).toBe(false);
});
