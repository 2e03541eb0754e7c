import { afterEach, beforeEach, expect, test } from 'vitest';
import { fakeTime, pass, realTime } from '../../support/fixtures/fake-time.ts';
import { asked, rowOf, scriptedDrain } from '../../support/fixtures/scripted-drain.ts';

beforeEach(fakeTime);
afterEach(realTime);

const batch = (...positions: readonly number[]) => ({
  messages: positions.map((position) => rowOf(position)),
});
const full = (...positions: readonly number[]) => ({ ...batch(...positions), truncated: true });
const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test('behind a full batch the next one is claimed while it is on the wire, and sent after its settle', async () => {
  const { database, broker, claims, begin } = scriptedDrain();
  claims.push({ ...full(1), snapshot: '5:5:' }, full(2), batch(3));
  const settledBefore: number[] = [];
  broker.before = async () => {
    settledBefore.push(database.valuesOf(asked.settle).length);
    await later(10);
  };
  begin();
  await pass(5);
  expect(database.valuesOf(asked.claim).map((values) => values.slice(3, 5))).toEqual([
    ['0', null],
    ['1', '5:5:'],
  ]);
  await pass(25);
  expect(broker.labels).toEqual(['1', '2', '3']);
  expect(settledBefore).toEqual([0, 1, 2]);
  // A pause that begins while a batch is on the wire counts for the next one.
  expect(database.valuesOf(asked.paused)).toHaveLength(2);
});

test('a batch claimed ahead is dropped after a pause, an exception, a hold and its own failure', async () => {
  for (const why of ['pause', 'exception', 'hold', 'failure'] as const) {
    const { database, broker, claims, begin } = scriptedDrain();
    claims.push(full(1), why === 'failure' ? new Error('no permission') : batch(2), batch(3));
    broker.before = () => later(10);
    broker.after = () => void (broker.judge = () => 'store');
    if (why === 'pause') database.on(asked.paused, [{ paused: true }]);
    if (why === 'exception') broker.judge = () => 'reject';
    if (why === 'hold') broker.judge = () => 'hold';
    begin();
    await pass(5);
    expect(database.valuesOf(asked.claim)).toHaveLength(2);
    await pass(25);
    const sent = why === 'pause' || why === 'failure' ? ['1', '3'] : ['3'];
    expect([why, ...broker.labels]).toEqual([why, ...sent]);
  }
});

test('nothing is claimed ahead behind a partial batch without a ring', async () => {
  for (const rings of [false, true]) {
    const { database, broker, claims, begin, input } = scriptedDrain();
    claims.push(batch(1));
    broker.after = () => (rings ? input.wake.ring() : undefined);
    let claimedAtSettle = 0;
    database.on(asked.settle, () => {
      claimedAtSettle = database.valuesOf(asked.claim).length;
      return [{ ctid: '(0,2)' }];
    });
    begin();
    await pass(0);
    expect(claimedAtSettle).toBe(rings ? 2 : 1);
    expect(database.valuesOf(asked.claim)).toHaveLength(rings ? 2 : 1);
    // Claimed when it was acknowledged: the claim itself sees a pause of the topic until then.
    expect(database.valuesOf(asked.paused)).toEqual([]);
  }
});

test('a lane that has sent everything reports the snapshot of its last claim', async () => {
  const { claims, begin, stop } = scriptedDrain();
  const told: string[] = [];
  claims.push({ ...full(1), snapshot: '5:5:' }, { ...batch(2), snapshot: '6:6:' });
  begin({ caughtUp: (snapshot) => told.push(snapshot) });
  await pass(0);
  expect(told).toEqual(['6:6:']);
  stop.abort();
});

test('a lane with an exception has not sent everything, and an empty one has', async () => {
  const { broker, claims, begin } = scriptedDrain();
  const told: string[] = [];
  broker.judge = () => 'reject';
  claims.push({ ...batch(1), snapshot: '6:6:' }, { snapshot: '7:7:' });
  begin({ caughtUp: (snapshot) => told.push(snapshot) });
  await pass(0);
  expect(told).not.toContain('6:6:');
});

test('work on a batch is wrapped from its claim to the end of its settle', async () => {
  const { database, claims, begin } = scriptedDrain();
  claims.push(batch(1));
  const during: number[] = [];
  begin({
    inHand: async (work) => {
      during.push(database.valuesOf(asked.settle).length);
      const result = await work();
      during.push(database.valuesOf(asked.settle).length);
      return result;
    },
  });
  await pass(0);
  expect(during).toEqual([0, 1]);
});

test('exceptions are written, counted and reported in their batch', async () => {
  const { database, broker, claims, events, begin } = scriptedDrain({ retry: ['1s'] });
  broker.judge = ({ payload }) => (payload === '"2"' ? 'reject' : 'store');
  claims.push(batch(1, 2, 3));
  database.on(asked.untold, [
    { id: 'two', key: null, attempt: 1, outcome: 'rejected', error: 'refused', retryInMs: 1_000 },
  ]);
  begin();
  await pass(0);
  expect(database.valuesOf(asked.changes)[0]?.slice(0, 5)).toEqual([
    [rowOf(2).id],
    ['retrying'],
    ['rejected'],
    ['rejected by the script'],
    [1_000],
  ]);
  expect(events.slice(1)).toMatchObject([
    { type: 'batch-settled', acknowledged: 2, exceptions: 1 },
    { type: 'attempt-failed', id: 'two', retryInMs: 1_000 },
  ]);
  expect(database.valuesOf(asked.told)).toHaveLength(1);
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

test('unreported failures are reported before the next claim', async () => {
  const { database, broker, claims, events, begin } = scriptedDrain();
  broker.judge = () => 'permanent';
  claims.push(batch(1));
  const failed = {
    id: 'one',
    key: null,
    attempt: 1,
    outcome: 'permanent',
    error: 'refused',
    retryInMs: null,
  };
  database.refuse(asked.untold, new Error('no connection'));
  begin();
  await pass(0);
  expect(events.map(({ type }) => type)).toEqual(['lane-acquired', 'batch-settled', 'error', 'error']);
  database.on(asked.untold, [failed]);
  await pass(1_000);
  expect(events.at(-1)).toMatchObject({ type: 'failed', id: 'one' });
  const asks = database.valuesOf(asked.untold).length;
  await pass(1_000);
  expect(database.valuesOf(asked.untold)).toHaveLength(asks);
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
