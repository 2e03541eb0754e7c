import { expect, test } from 'vitest';
import { type SeenGroup, standingPlaces } from '../../../src/relay/standing-places.ts';
import type { GroupNote } from '../../../src/store/installation/standing-groups.ts';

const nothing: GroupNote = { places: {} };

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

test('a partition stands from the first look that sees messages wait there', () => {
  const first = standingPlaces(nothing, seen({ 0: ['5', '9'] }), at(100));
  expect(first).toEqual({ places: { 0: { at: '5', sinceMs: 100, standsMs: 0 } } });

  expect(standingPlaces(first, seen({ 0: ['5', '20'] }), at(1_100))).toEqual({
    places: { 0: { at: '5', sinceMs: 100, standsMs: 1_000 } },
  });
});

test('who moves, or has nothing to read, begins anew', () => {
  const before = { places: { 0: { at: '5', sinceMs: 0, standsMs: 4_000 } } };
  for (const moved of ['6', '4'])
    expect(standingPlaces(before, seen({ 0: [moved, '9'] }), at(5_000))).toEqual({
      places: { 0: { at: moved, sinceMs: 5_000, standsMs: 0 } },
    });
  expect(standingPlaces(before, seen({ 0: ['9', '9'] }), at(5_000))).toEqual(nothing);
});

test('each partition stands for itself, whatever the others do', { tags: ['alert-hook-called-once'] }, () => {
  const before = {
    places: {
      0: { at: '5', sinceMs: 0, standsMs: 0 },
      1: { at: '7', sinceMs: 500, standsMs: 0 },
      10: { at: '1', sinceMs: 0, standsMs: 0 },
    },
  };
  const now = seen({ 0: ['6', '9'], 1: ['7', '9'], 2: ['3', '3'], 10: ['1', '2'] });
  expect(standingPlaces(before, now, at(2_000))).toMatchObject({
    places: { 0: { standsMs: 0 }, 1: { standsMs: 1_500 }, 10: { standsMs: 2_000 } },
  });
});

test('a group that stands since a time in the future stands since now: the clock was set back', {
  tags: ['set-back-clock-silences-nothing'],
}, () => {
  const known = { places: { 0: { at: '5', sinceMs: 3_600_000, standsMs: 0 } } };
  const now = standingPlaces(known, seen({ 0: ['5', '9'] }), at(1_000));
  expect(now.places).toEqual({ 0: { at: '5', sinceMs: 1_000, standsMs: 0 } });
  expect(standingPlaces(now, seen({ 0: ['5', '9'] }), at(2_000)).places).toEqual({
    0: { at: '5', sinceMs: 1_000, standsMs: 1_000 },
  });
});

test('the time that a broker took to answer does not count', () => {
  const first = standingPlaces(nothing, seen({ 0: ['5', '9'] }), { beganMs: 0, endedMs: 800 });
  const slow = { beganMs: 1_700, endedMs: 5_000 };
  expect(standingPlaces(first, seen({ 0: ['5', '9'] }), slow).places[0]?.standsMs).toBe(900);
});

test('where a group has committed nothing, messages wait only for one that has to read them', () => {
  const silent = { 0: [null, '9'], 1: ['9', '9'] } as const;
  expect(standingPlaces(nothing, seen({ 0: [...silent[0]], 1: [...silent[1]] }), at(0)).places).toEqual({});
  expect(standingPlaces(nothing, seen({ 0: [...silent[0]], 1: [...silent[1]] }, true), at(0)).places).toEqual(
    { 0: { at: null, sinceMs: 0, standsMs: 0 } },
  );
});

test('offsets beyond what a double holds differ by one', () => {
  const before = { places: { 0: { at: '166020696663385964544', sinceMs: 0, standsMs: 1_000 } } };
  const moved = standingPlaces(
    before,
    seen({ 0: ['166020696663385964545', '166020696663385964546'] }),
    at(2_000),
  );
  expect(moved.places[0]?.standsMs).toBe(0);
});
