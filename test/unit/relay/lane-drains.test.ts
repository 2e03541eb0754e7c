import { afterEach, beforeEach, expect, test } from 'vitest';
import { LaneDrains } from '../../../src/relay/lane-drains.ts';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { asked, rowOf, scriptedDrain } from '../../support/fixtures/scripted-drain.ts';

beforeEach(fakeTime);
afterEach(realTime);

const lane = { topic: 'orders', lane: 3 };
const far = { laneIdleTimeoutMs: 3_600_000, checkIntervalMs: 3_600_000, drainTimeoutMs: 7_200_000 };

function drains() {
  const counts: number[] = [];
  const running = new LaneDrains((count) => counts.push(count));
  const begin = (to = lane) => {
    const stage = scriptedDrain();
    const { lane: _lane, wake: _wake, ...input } = stage.input;
    const answer = soFar(running.run(to, { ...input, timings: { ...input.timings, ...far } }));
    return { ...stage, answer, claimed: () => stage.database.valuesOf(asked.claim).length };
  };
  return { running, counts, begin };
}

test('drains are counted and known by their lanes until they end', async () => {
  const { running, counts, begin } = drains();
  const first = begin();
  const second = begin({ ...lane, lane: 4 });
  expect(running.has(lane)).toBe(true);
  expect(running.has({ ...lane, lane: 5 })).toBe(false);
  await pass(0);
  first.stop.abort();
  await pass(0);
  expect(first.answer.value).toBe('more');
  expect(running.has(lane)).toBe(false);
  second.stop.abort();
  await pass(0);
  expect(counts).toEqual([1, 2, 1, 0]);
});

test('a drain that fails is forgotten, too', async () => {
  const { running, counts, begin } = drains();
  const { database, answer } = begin();
  database.refuse(asked.acquire, new Error('no connection'));
  await pass(0);
  expect(answer).toMatchObject({ state: 'rejected', error: { message: 'no connection' } });
  expect(running.has(lane)).toBe(false);
  expect(counts).toEqual([1, 0]);
});

test('a drain of a lane already drained here begins when the one before it has ended, and is the one that is woken', async () => {
  const { running, begin } = drains();
  const first = begin();
  await pass(0);
  first.database.on(asked.free, async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return [];
  });
  const second = begin();
  await pass(99);
  expect(first.answer.state).toBe('open');
  expect(second.database.asked).toEqual([]);
  await pass(1);
  expect(first.answer.value).toBe('more');
  expect(second.claimed()).toBe(1);
  expect(running.has(lane)).toBe(true);
  running.wake(lane);
  await pass(0);
  expect(second.claimed()).toBe(2);
});

test('a drain after a failed one still begins', async () => {
  const { begin } = drains();
  const first = begin();
  first.database.refuse(asked.acquire, new Error('no connection'));
  const second = begin();
  await pass(0);
  expect(first.answer.state).toBe('rejected');
  expect(second.claimed()).toBe(1);
});

test('a drain is woken for transactions that its last claim did not show, or if they are unknown', async () => {
  const { running, begin } = drains();
  expect(running.wake(lane)).toBe(false);
  const { claimed } = begin();
  // Before its first claim, whatever is new is unknown to it.
  expect(running.wake(lane, '1')).toBe(true);
  await pass(0);
  const woken = async (xids: string | null) => {
    const before = claimed();
    running.wake(lane, xids);
    await pass(0);
    return claimed() - before;
  };
  // It has claimed by the snapshot 9:9:.
  expect(await woken('8')).toBe(0);
  expect(await woken('3,8')).toBe(0);
  expect(await woken('8,9')).toBe(1);
  expect(await woken(null)).toBe(1);
});

test('all drains are woken at once', async () => {
  const { running, begin } = drains();
  const all = [begin(), begin({ ...lane, lane: 4 })];
  await pass(0);
  running.wakeAll();
  await pass(0);
  expect(all.map(({ claimed }) => claimed())).toEqual([2, 2]);
});

test('a batch is in hand from its claim to the end of its settle, whether it succeeds or not', async () => {
  for (const fails of [false, true]) {
    const { running, begin } = drains();
    const { claims, broker, database } = begin();
    claims.push({ messages: [rowOf(1)] });
    if (fails) database.refuse(asked.settle, new Error('no connection'));
    const seen: number[] = [];
    broker.before = () => void seen.push(running.inHand);
    expect(running.inHand).toBe(0);
    await pass(0);
    expect(seen).toEqual([1]);
    await pass(6_000);
    expect(running.inHand).toBe(0);
  }
});
