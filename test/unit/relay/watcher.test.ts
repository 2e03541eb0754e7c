import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LaneDrains } from '../../../src/relay/lane-drains.ts';
import { defaultTimings } from '../../../src/relay/timings.ts';
import { emptyClaim } from '../../support/fixtures/claimed-messages.ts';
import { drainStage } from '../../support/fixtures/drain-stage.ts';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import {
  bulks,
  claim,
  every,
  lanes,
  locks,
  look,
  news,
  nothing,
  overdueTopics,
  stage,
  sweep,
  untold,
} from './watcher-stage.ts';

beforeEach(fakeTime);
afterEach(realTime);

/** Drains lane 3 here, with claims that find nothing. @returns the number of claims so far */
async function drainHere(drains: LaneDrains) {
  const { database, input } = drainStage();
  database
    .on('outbox.lane_taken(l) as taken', [
      { cursor: '0', snapshot: null, suspect: null, lapsed: false, untold: false, hold: null, heldMs: 0 },
    ])
    .on('from outbox.release_blocked(', [{ freed: false, released: 0, next: '' }])
    .on('update outbox.lane l set alive_until', [{ place: '(0,1)' }])
    .on(claim, [emptyClaim]);
  const far = { laneIdleTimeoutMs: 3_600_000, checkIntervalMs: 3_600_000, drainTimeoutMs: 7_200_000 };
  void drains.run(input.lane, { ...input, timings: { ...defaultTimings, ...far } });
  await pass(0);
  return () => database.valuesOf(claim).length;
}

test('the outbox is looked at every ten milliseconds for five seconds after news, then ten times a second', async () => {
  const { watcher, database, times, rounds } = stage();
  watcher.start();
  watcher.start();
  await pass(0);
  expect(times(look)).toBe(1);
  await pass(100);
  expect(times(look)).toBe(11);
  await pass(4_900);
  const hot = times(look);
  await pass(1_000);
  expect(times(look) - hot).toBeLessThanOrEqual(11);
  expect(times(look) - hot).toBeGreaterThanOrEqual(9);

  database.on(look, [news(1, { waiting: true })]);
  await pass(100);
  const again = times(look);
  await pass(100);
  expect(times(look) - again).toBe(10);
  expect(rounds.count).toBe(times(look));
});

test('a look continues from the snapshot of the one before, unless that failed: then all drains look', async () => {
  const { watcher, database, events, drains, times } = stage();
  const claims = await drainHere(drains);
  const seen = () => database.valuesOf(look).map(([snapshot]) => snapshot);
  watcher.start();
  await pass(20);
  expect(seen()).toEqual([null, '9:9:', '9:9:']);
  expect(claims()).toBe(2);
  const error = new Error('no connection');
  database.refuse(look, error);
  await pass(10);
  expect(events).toEqual([{ type: 'error', during: 'look', error }]);
  await pass(999);
  expect(times(look)).toBe(4);
  database.on(look, [nothing]);
  await pass(1);
  expect(seen().slice(3)).toEqual(['9:9:', null]);
  expect(claims()).toBe(3);
  await pass(10);
  expect(claims()).toBe(3);
});

test('everything is checked once a second, and orphans at every look', async () => {
  const { watcher, database, engine, times, wanted } = stage();
  watcher.start();
  await pass(0);
  const checks = () => [wanted(), ...[untold, bulks, overdueTopics].map(times)];
  expect(checks()).toEqual([1, 1, 1, 1]);
  expect([times(locks), engine.terminatedAsked]).toEqual([1, 1]);
  await pass(990);
  expect(checks()).toEqual([1, 1, 1, 1]);
  expect(times(lanes) - wanted()).toBe(5);
  await pass(10);
  expect(checks()).toEqual([2, 2, 2, 2]);
  expect(database.valuesOf(overdueTopics)[0]).toEqual([['orders'], [null]]);
});

test('a lane with news that is not drained here is requested at once, and again after a quarter of a second', async () => {
  const { watcher, database, wanted, times } = stage();
  watcher.start();
  await pass(5);
  database.on(look, [news(1, { ready: true })]);
  await pass(10);
  expect(wanted()).toBe(2);
  await pass(240);
  expect(wanted()).toBe(2);
  await pass(10);
  expect(wanted()).toBe(3);
  expect(times(untold)).toBe(1);
});

test('news of waiting messages starts messages and no lane', async () => {
  const { watcher, database, wanted, times } = stage();
  watcher.start();
  await pass(5);
  database.on(look, [news(1, {}), news(2, { waiting: true })]);
  await pass(10);
  expect(times(untold)).toBe(2);
  expect(wanted()).toBe(1);
});

test('a nudge wakes a drain here, and for other lanes, or none, triggers a look', async () => {
  const { watcher, database, drains, times } = stage(every(10_000));
  const claims = await drainHere(drains);
  watcher.start();
  await pass(5);
  const [looked, claimed] = [times(look), claims()];
  watcher.nudge([{ topic: 'orders', lane: 3 }]);
  await pass(0);
  expect([times(look), claims()]).toEqual([looked, claimed + 1]);
  watcher.nudge([{ topic: 'orders', lane: 4 }]);
  await pass(0);
  expect(times(look)).toBe(looked + 1);
  watcher.nudge([]);
  await pass(0);
  expect(times(look)).toBe(looked + 2);

  // It was asked for a moment ago.
  database.on(look, [news(4, { ready: true })]);
  watcher.nudge([]);
  await pass(0);
  database.on(look, [nothing]);
  const asked = times(look);
  watcher.nudge([{ topic: 'orders', lane: 4 }]);
  await pass(0);
  expect(times(look)).toBe(asked);
});

test('the next due time sets the time of the next look, which is at most the usual pause away', async () => {
  for (const [nextDueInMs, afterMs] of [
    [4, 4],
    [1, 1],
    [400, 10],
  ] as const) {
    const { watcher, database, times } = stage();
    database.on(look, [{ ...nothing, nextDueInMs }]);
    watcher.start();
    await pass(afterMs - 1);
    expect(times(look)).toBe(1);
    await pass(1);
    expect(times(look)).toBe(2);
    expect(times(sweep)).toBe(0);
    await watcher.stop();
  }
});

test('due messages are swept in up to five full sweeps, their lanes are started, and the next look follows at once', async () => {
  const { watcher, database, events, times, wanted } = stage();
  const due = { ...nothing, nextDueInMs: 0 };
  const counts = [2_000, 2_000, 2_000, 2_000, 2_000, 2_000, 5];
  database.on(look, () => (counts.length > 0 ? [due] : [nothing]));
  database.on(sweep, () => [{ released: counts.shift() ?? 0, next: 'n', lanes: 'orders/7' }]);
  watcher.start();
  await pass(0);
  expect(events).toEqual([
    { type: 'messages-swept', count: 10_000 },
    { type: 'messages-swept', count: 2_005 },
  ]);
  expect(times(look)).toBe(3);
  expect(database.valuesOf(sweep)[0]).toEqual([['punctual'], 2_000, 200, 'n']);
  expect(wanted()).toBe(2);
});

test('due messages that cannot be swept are looked at again soon, without a report', async () => {
  for (const [lookEveryMs, againMs] of [
    [100, 20],
    [5, 5],
  ] as const) {
    const { watcher, database, events, times } = stage(every(lookEveryMs));
    database.on(look, [{ ...nothing, nextDueInMs: 0 }]);
    watcher.start();
    await pass(againMs * 5 - 1);
    expect(times(sweep)).toBe(5);
    expect(events).toEqual([]);
    await watcher.stop();
  }
});

test('a stop waits for the look in progress, and none follows', async () => {
  const { watcher, database, times } = stage();
  database.on(look, async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return [{ ...nothing, nextDueInMs: 0 }];
  });
  watcher.start();
  await pass(0);
  const stopped = soFar(watcher.stop());
  await pass(99);
  expect(stopped.state).toBe('open');
  await pass(1);
  expect(stopped.state).toBe('resolved');
  await pass(1_000);
  expect([times(look), times(sweep)]).toEqual([1, 0]);
});

/** Has each search find two lanes quiet. @returns the lanes that the last search was told to leave out */
function twoQuietLanes(database: ReturnType<typeof stage>['database']) {
  database.on(lanes, ([, , , , , names]) =>
    names === null ? [] : [1, 2].map((lane) => ({ topic: 'orders', lane, quiet: true })),
  );
  return () => database.valuesOf(lanes).findLast(([, orphans]) => orphans === false)?.[6];
}

test('a lane that a search has found quiet is searched again after news of it, and every lane after a look that failed', {
  tags: ['no-lane-stops'],
}, async () => {
  const { watcher, database } = stage();
  const left = twoQuietLanes(database);
  watcher.start();
  await pass(0);
  expect(left()).toEqual([]);
  await pass(1_000);
  // One of them is searched anew each time.
  expect(left()).toEqual([2]);
  database.on(look, [news(2, { ready: true })]);
  await pass(10);
  expect(left()).toEqual([]);
  database.on(look, [nothing]);
  await pass(1_000);
  expect(left()).toHaveLength(1);
  database.refuse(look, new Error('no connection'));
  await pass(10);
  database.on(look, [nothing]);
  await pass(1_000);
  expect(left()).toEqual([]);
});

test('a lane that a search has found quiet is searched at once when a message of it is swept', async () => {
  const { watcher, database } = stage();
  const left = twoQuietLanes(database);
  watcher.start();
  await pass(1_000);
  expect(left()).toEqual([2]);
  let due = true;
  database.on(look, () => [{ ...nothing, nextDueInMs: due ? 0 : null }]);
  database.on(sweep, () => {
    due = false;
    return [{ released: 1, next: 'n', lanes: 'orders/2' }];
  });
  await pass(300);
  expect(left()).toEqual([]);
});
