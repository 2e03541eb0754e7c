import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fakeTime, pass, realTime } from '../../support/fixtures/fake-time.ts';
import { refusedBy } from '../../support/fixtures/scripted-database.ts';
import { asked, rowOf, scriptedDrain } from '../../support/fixtures/scripted-drain.ts';

beforeEach(() => {
  fakeTime();
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
  realTime();
});

const place = { topic: 'orders', lane: 3 };
const batch = (...positions: readonly number[]) => ({
  messages: positions.map((position) => rowOf(position)),
});

test('a lane is acquired, emptied in batches, and freed as quiet after being empty for five seconds', async () => {
  const { database, broker, events, claims, begin, input } = scriptedDrain();
  claims.push({ ...batch(1, 2), truncated: true, snapshot: '5:5:' }, { ...batch(3), snapshot: '6:6:' });
  const answer = begin();
  await pass(0);
  expect(broker.labels).toEqual(['1', '2', '3']);
  expect(events[0]).toEqual({ type: 'lane-acquired', lapsed: false, standIn: false, ...place });
  const settled = (acknowledged: number) => ({
    type: 'batch-settled',
    acknowledged,
    exceptions: 0,
    ...place,
  });
  expect(events.slice(1)).toMatchObject([settled(2), settled(1)]);
  expect(database.valuesOf(asked.settle).map(([, , , , cursor, snapshot]) => [cursor, snapshot])).toEqual([
    ['2', '5:5:'],
    ['3', '6:6:'],
  ]);
  const [, , limit, cursor, snapshot, owner] = database.valuesOf(asked.claim)[0] ?? [];
  expect([limit, cursor, snapshot]).toEqual([input.limits.messages, '0', null]);
  await pass(4_999);
  expect(answer.state).toBe('open');
  await pass(1);
  expect(answer).toEqual({ state: 'resolved', value: 'quiet' });
  expect(database.valuesOf(asked.free)).toEqual([['orders', 3, owner, true, false]]);
  expect(events.at(-1)).toEqual({ type: 'lane-freed', quiet: true, ...place });
});

test('an empty lane is claimed from once a second, when woken, and at once after each batch', async () => {
  const { database, claims, begin, input } = scriptedDrain();
  const times = () => database.valuesOf(asked.claim).length;
  begin();
  await pass(999);
  expect(times()).toBe(1);
  await pass(1);
  expect(times()).toBe(2);
  claims.push(batch(1));
  input.wake.ring();
  await pass(0);
  expect(times()).toBe(3);
  // The batch has begun the five seconds anew.
  await pass(4_500);
  expect(database.valuesOf(asked.free)).toEqual([]);
  await pass(500);
  expect(database.valuesOf(asked.free)).toHaveLength(1);
});

test('a settle prolongs the lease, and every claim is progress', async () => {
  const { database, claims, begin, input, made } = scriptedDrain();
  const times = () => database.valuesOf(asked.renew).length;
  begin();
  await pass(2_000);
  expect(made.progress).toBe(3);
  claims.push(batch(1));
  input.wake.ring();
  await pass(2_000);
  expect(times()).toBe(0);
  await pass(1_000);
  expect(times()).toBe(1);
});

test('a drain waits for a lane that another owner has, asking four times a second, but a stand-in does not', async () => {
  const waiting = scriptedDrain();
  waiting.database.on(asked.acquire, []);
  const answer = waiting.begin();
  await pass(750);
  expect(waiting.database.valuesOf(asked.acquire)).toHaveLength(4);
  expect(waiting.made.progress).toBe(4);
  waiting.database.on(asked.acquire, [waiting.acquired]);
  await pass(250);
  expect(waiting.events[0]).toMatchObject({ type: 'lane-acquired' });
  expect(answer.state).toBe('open');

  const standIn = scriptedDrain();
  standIn.database.on(asked.acquire, []);
  const taken = standIn.begin({ standIn: true });
  await pass(0);
  expect(taken.value).toBe('taken');
  expect(standIn.events).toEqual([]);
});

test('waiting for a lane ends with the signal and with the run', async () => {
  for (const ending of ['signal', 'deadline'] as const) {
    const { database, stop, begin } = scriptedDrain();
    database.on(asked.acquire, []);
    const answer = begin();
    await pass(59_999);
    expect(answer.state).toBe('open');
    if (ending === 'signal') stop.abort();
    await pass(1);
    expect(answer.state).toBe(ending === 'signal' ? 'resolved' : 'open');
    await pass(250);
    expect(answer.value).toBe('more');
  }
});

test('runs that began together end at different times, between half of their time and all of it', async () => {
  for (const [random, endMs] of [
    [0, 60_000],
    [0.5, 45_000],
    [1, 30_000],
  ] as const) {
    vi.spyOn(Math, 'random').mockReturnValue(random);
    const { database, begin, input } = scriptedDrain();
    const answer = begin({ timings: { ...input.timings, laneIdleTimeoutMs: 3_600_000 } });
    await pass(endMs - 1);
    expect(answer.state).toBe('open');
    await pass(1);
    expect(answer.value).toBe('more');
    expect(database.valuesOf(asked.free)[0]?.[3]).toBe(false);
  }
});

test('after a takeover everything visible to the dead owner is marked before anything is sent, and then claimed as suspect at once', {
  tags: ['dead-relay-lanes-taken-over'],
}, async () => {
  const { database, broker, claims, events, begin, acquired } = scriptedDrain();
  database.on(asked.acquire, [{ ...acquired, lapsed: true }]);
  claims.push(batch(1));
  broker.before = () => {
    expect(database.valuesOf(asked.suspect)).toHaveLength(1);
  };
  begin();
  await pass(0);
  expect(events[0]).toMatchObject({ lapsed: true });
  expect(broker.labels).toEqual(['1']);
  expect(broker.batches).toHaveLength(1);
  expect(database.valuesOf(asked.claim).map((values) => values.includes('7:7:'))).toEqual([true]);
});

test('a takeover that cannot be marked is abandoned as if its owner had died, or left to the next owner', async () => {
  for (const [rows, end] of [
    [[], 'more'],
    [undefined, undefined],
  ] as const) {
    const { database, begin, acquired, events, parts } = scriptedDrain();
    database.on(asked.acquire, [{ ...acquired, lapsed: true }]);
    if (rows === undefined) database.refuse(asked.suspect, refusedBy('42501', 'no permission'));
    else database.on(asked.suspect, rows);
    const answer = begin();
    await pass(0);
    expect(answer.value).toBe(end);
    expect(parts().at(-1)).toBe(asked.abandon);
    expect(events.at(-1)?.type).toBe(rows === undefined ? 'lane-freed' : 'lane-lost');
  }
});

test('a takeover waits for a connection lost before the mark, and claims nothing without it', async () => {
  const { database, broker, claims, begin, acquired, parts } = scriptedDrain();
  database.on(asked.acquire, [{ ...acquired, lapsed: true }]);
  database.refuse(asked.suspect, new Error('Connection terminated unexpectedly'));
  claims.push(batch(1));
  begin();
  await pass(0);
  expect(parts()).not.toContain(asked.claim);
  database.on(asked.suspect, [{ ctid: '(0,1)', suspect: '7:7:' }]);
  await pass(2_000);
  expect(broker.labels).toEqual(['1']);
  expect(database.valuesOf(asked.claim)[0]).toContain('7:7:');
});

test('an error that is not of the connection abandons the lane as if its owner had died', async () => {
  const { database, begin, events, parts } = scriptedDrain();
  database.refuse(asked.claim, refusedBy('42501', 'no permission'));
  const answer = begin();
  await pass(0);
  expect(answer).toMatchObject({ state: 'rejected', error: { message: 'no permission' } });
  expect(parts().slice(-1)).toEqual([asked.abandon]);
  // What it had in hand is unknown, so nothing is over.
  expect(events.at(-1)).toEqual({ type: 'lane-freed', quiet: false, ...place });
});

test('a claim is tried again ten times a second while the database is unreachable, for half a lease', async () => {
  const { database, events, begin } = scriptedDrain();
  const error = refusedBy('08006');
  database.refuse(asked.claim, error);
  const answer = begin();
  await pass(250);
  expect(events.slice(1)).toEqual(
    Array.from({ length: 3 }, () => ({ type: 'error', during: 'claim', error })),
  );
  await pass(4_750);
  expect(answer.state).toBe('open');
  await pass(150);
  expect(answer).toEqual({ state: 'rejected', error });

  const back = scriptedDrain();
  back.database.refuse(asked.claim, error);
  back.begin();
  await pass(150);
  back.stop.abort();
  await pass(0);
  expect(back.events.at(-1)?.type).toBe('lane-freed');
  expect(back.database.valuesOf(asked.abandon)).toHaveLength(1);
});
