import { afterEach, beforeEach, expect, test } from 'vitest';
import { fakeTime, pass, realTime } from '../../support/fixtures/fake-time.ts';
import { asked, rowOf, scriptedDrain } from '../../support/fixtures/scripted-drain.ts';

beforeEach(fakeTime);
afterEach(realTime);

const batch = (...positions: readonly number[]) => ({
  messages: positions.map((position) => rowOf(position)),
});
const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test('a lane with an exception has not sent everything, and an empty one has', async () => {
  const { broker, claims, begin } = scriptedDrain();
  const told: string[] = [];
  broker.judge = () => 'reject';
  claims.push({ ...batch(1), snapshot: '6:6:' }, { snapshot: '7:7:' });
  begin({ caughtUp: (snapshot) => told.push(snapshot) });
  await pass(0);
  expect(told).not.toContain('6:6:');
});

test('a failure is reported when others of its batch are written as published', async () => {
  const { database, broker, claims, begin } = scriptedDrain();
  broker.judge = ({ payload }) => (payload === '"2"' ? 'permanent' : 'store');
  claims.push({ messages: [rowOf(1, { ownWorkflow: 'own' }), rowOf(2)] });
  begin();
  await pass(0);
  expect(database.valuesOf(asked.changes)[0]?.[1]).toEqual(['published', 'failed']);
  expect(database.valuesOf(asked.told)).toHaveLength(1);
});

test('a failure that cannot be reported is not forgotten because of a later batch without one', async () => {
  const { database, broker, claims, events, begin } = scriptedDrain();
  broker.judge = ({ payload }) => (payload === '"1"' ? 'permanent' : 'store');
  database.refuse(asked.untold, new Error('no connection'));
  claims.push(batch(1));
  begin();
  await pass(0);
  claims.push(batch(2));
  await pass(1_000);
  expect(events.filter(({ type }) => type === 'batch-settled')).toHaveLength(2);
  database.on(asked.untold, [
    { id: 'one', key: null, attempt: 1, outcome: 'permanent', error: 'refused', retryInMs: null },
  ]);
  await pass(1_000);
  expect(events.at(-1)).toMatchObject({ type: 'failed', id: 'one' });
});

test('after a hold the address is probed at once, or after a second if the last hold was a moment ago', async () => {
  const { broker, claims, begin, events } = scriptedDrain();
  let probes = 0;
  broker.probe = async () => void (probes += 1);
  broker.judge = () => 'hold';
  claims.push(batch(1), batch(1));
  begin();
  await pass(0);
  expect(probes).toBe(1);
  expect(events.filter(({ type }) => type === 'hold-began')).toHaveLength(2);
  await pass(999);
  expect(probes).toBe(1);
  await pass(1);
  expect(probes).toBe(2);
});

test('a hold of an earlier owner ends with the first message that is sent, not with one that has expired', {
  tags: ['hold-as-old-as-its-cause'],
}, async () => {
  const { acquired, claims, begin, database, events, input } = scriptedDrain();
  Object.assign(acquired, { hold: { scope: 'topic', reason: 'away' }, heldMs: 50_000 });
  claims.push({ messages: [rowOf(1, { expiresAt: new Date(0).toISOString(), expiresBy: -1 })] });
  begin();
  await pass(1_000);
  const ends = () => events.flatMap((event) => (event.type === 'hold-ended' ? [event] : []));
  expect([database.valuesOf(asked.hold), ends()]).toEqual([[], []]);
  claims.push(batch(2), batch(3));
  input.wake.ring();
  await pass(0);
  expect(ends()).toMatchObject([{ lastedMs: 51_000, over: true }]);
  expect(database.valuesOf(asked.hold)).toHaveLength(1);
});

test('a hold two seconds after the last one is probed at once', async () => {
  const { broker, claims, begin, input } = scriptedDrain();
  let probes = 0;
  broker.probe = async () => void (probes += 1);
  broker.judge = () => 'hold';
  claims.push(batch(1));
  begin();
  await pass(2_000);
  expect(probes).toBe(1);
  claims.push(batch(1));
  input.wake.ring();
  await pass(0);
  expect(probes).toBe(2);
});

test('a batch that waited for half a lease is sent only if the lane is still owned', async () => {
  for (const ours of [true, false]) {
    const { database, broker, claims, begin, events } = scriptedDrain();
    claims.push(batch(1));
    database.on(asked.renew, ours ? [{ ctid: '(0,1)' }] : []);
    Object.assign(broker, { partitionCount: async () => 3 });
    database.on('select partitions from outbox.topic', async () => {
      await later(5_001);
      return [{ partitions: 3 }];
    });
    begin();
    await pass(5_001);
    expect(broker.labels).toEqual(ours ? ['1'] : []);
    if (!ours) expect(events.at(-1)?.type).toBe('lane-lost');
  }
});

test('a lane that is lost during a slow publish stops it', async () => {
  const { database, broker, claims, begin, events } = scriptedDrain();
  claims.push(batch(1));
  database.on(asked.renew, []);
  let stoppedAtMs = Number.NaN;
  broker.before = ({ signal }) =>
    new Promise((resolve) => {
      const beganAt = performance.now();
      signal.addEventListener('abort', () => {
        stoppedAtMs = performance.now() - beganAt;
        resolve();
      });
    });
  begin();
  await pass(4_000);
  // At the first renewal: a publish that is not stopped continues for a minute.
  expect(stoppedAtMs).toBeLessThan(4_000);
  expect(events.at(-1)?.type).toBe('lane-lost');
});

test('the number of partitions is read once, and a broker that cannot be asked for it holds the lane', async () => {
  const { database, broker, claims, begin, events, input } = scriptedDrain();
  let away = true;
  const partitionCount = async () => {
    if (away) throw new Error('no broker');
    return 3;
  };
  Object.assign(broker, { partitionCount });
  const given: number[] = [];
  broker.before = ({ partitions }) => void given.push(partitions);
  database.on('select partitions from outbox.topic', [{ partitions: null }]);
  database.on('update outbox.topic set partitions', []);
  broker.reachable = false;
  claims.push(batch(1), batch(1), batch(2));
  begin();
  await pass(500);
  expect(events.at(-1)).toMatchObject({ type: 'hold-began', hold: { scope: 'topic', reason: 'no broker' } });
  away = false;
  broker.reachable = true;
  await pass(2_000);
  expect(given).toEqual([3, 3]);
  expect(database.valuesOf('update outbox.topic set partitions')).toHaveLength(1);
  const asks = database.valuesOf('select partitions from outbox.topic').length;
  claims.push(batch(3));
  input.wake.ring();
  await pass(0);
  expect(given).toEqual([3, 3, 3]);
  expect(database.valuesOf('select partitions from outbox.topic')).toHaveLength(asks);
});
