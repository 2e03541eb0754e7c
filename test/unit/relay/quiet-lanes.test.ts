import { expect, test } from 'vitest';
import { QuietLanes } from '../../../src/relay/quiet-lanes.ts';

const lane = (n: number) => ({ topic: 'orders', lane: n });
const lanes = (count: number) => Array.from({ length: count }, (_, n) => lane(n));

function search(quiet: QuietLanes, found: readonly number[]): readonly number[] {
  const running = quiet.begin();
  running.ended(found.map(lane));
  return running.quiet.map(({ lane: n }) => n);
}

test('a lane that was found quiet is left out, until a look tells news of it', () => {
  const quiet = new QuietLanes();
  expect(search(quiet, [0, 1, 2])).toEqual([]);
  // One in sixty is searched anew each time: here the first.
  expect(search(quiet, [0])).toEqual([1, 2]);
  quiet.heard([lane(2)]);
  expect(search(quiet, [])).toEqual([0]);
});

test('news that comes during a search counts against what it finds', () => {
  const quiet = new QuietLanes();
  const running = quiet.begin();
  quiet.heard([lane(1)]);
  running.ended(lanes(3));
  expect(search(quiet, [])).toEqual([2]);
});

test('after a missed look nothing is known, nor what the search finds that runs then', () => {
  const quiet = new QuietLanes();
  quiet.begin().ended(lanes(3));
  const running = quiet.begin();
  quiet.forget();
  running.ended(lanes(3));
  expect(search(quiet, [0, 1])).toEqual([]);
  expect(search(quiet, [])).toEqual([1]);
});

test('every lane is searched anew within sixty searches', () => {
  const quiet = new QuietLanes();
  quiet.begin().ended(lanes(1_024));
  const times = new Map<number, number>();
  for (let round = 0; round < 60; round += 1) {
    const running = quiet.begin();
    const left = new Set(running.quiet.map(({ lane: n }) => n));
    const anew = lanes(1_024).filter(({ lane: n }) => !left.has(n));
    expect(anew.length).toBeLessThanOrEqual(18);
    for (const { lane: n } of anew) times.set(n, (times.get(n) ?? 0) + 1);
    running.ended(anew);
  }
  expect(times.size).toBe(1_024);
});
