import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { changeLanes } from '../../../src/operations/delivery/lanes.ts';
import { beginChange } from '../../../src/store/lane/lanes-change.ts';
import { switchLanes } from '../../../src/store/lane/lanes-switch.ts';
import { MortalDatabase } from '../../support/faults/mortal-database.ts';
import { startKeyWriters } from '../../support/fixtures/key-writers.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { seededRandom } from '../../support/fixtures/random.ts';
import { startTestRelay, type TestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
let relay: TestRelay | undefined;
eachLane((made) => (fixture = made));
afterEach(async () => {
  await relay?.stop();
  relay = undefined;
});

const by = { actor: 'test', timeout: 30_000 };

/** The lane of a message, and that of its key. */
async function placeOf(label: string): Promise<{ lane: number; rightLane: number; workflow: string }> {
  const [row] = await fixture.database.query<{ lane: number; rightLane: number; workflow: string }>(
    `select m.lane, outbox.lane_of(m.key, m.id, t.lanes) as "rightLane", substr(m.workflow_id, 38) as workflow
     from outbox.message_view m join outbox.topic t on t.name = m.topic where m.id = $1`,
    [fixture.idOf(label)],
  );
  if (row === undefined) throw new Error(`"${label}" has no row.`);
  return row;
}

/** What was delivered, by lane. */
const batches = () =>
  fixture.database.query<{ id: string; lane: number }>('select id, lane from outbox.batch');

/** A key that belongs to the lane when there are so many. */
async function keyOfLane(lane: number, lanes: number): Promise<string> {
  const [row] = await fixture.database.query<{ key: string }>(
    `select 'k' || n as key from generate_series(1, 100) n where outbox.lane_of('k' || n, null, $2) = $1 limit 1`,
    [lane, lanes],
  );
  return row?.key ?? '';
}

/** A key that does not stay in lane 0 when there are so many lanes. */
function movingKey(lanes: number): Promise<string> {
  return keyOfLane(lanes - 1, lanes);
}

test('while lanes become 4 and then 2, keys keep their order', { tags: ['order-per-key'] }, async () => {
  const { url, topic, database, broker } = fixture;
  // Lanes that are differently slow, so that a key in two of them would lose its order.
  const random = seededRandom(18);
  broker.before = () => delay(random.below(200));
  relay = await startTestRelay(fixture, { timings: { laneIdleTimeoutMs: 50 } });
  const writers = startKeyWriters({ url, topic, seed: 18, writers: 8, keysEach: 2, openMs: 700 });
  const arrived = broker.log.length;
  await until(() => broker.log.length > arrived + 50);
  const usedLanes: (readonly number[])[] = [];
  for (const lanes of [4, 2]) {
    expect(await changeLanes(database, topic, lanes, by)).toMatchObject({ done: true });
    const before = new Set((await batches()).map(({ id }) => id));
    const lanesSince = async (): Promise<ReadonlySet<number>> =>
      new Set((await batches()).filter(({ id }) => !before.has(id)).map(({ lane }) => lane));
    const from = broker.log.length;
    // How soon each lane has its turn is up to the machine.
    await until(async () => broker.log.length > from + 100 && (await lanesSince()).size >= lanes);
    usedLanes.push([...(await lanesSince())].toSorted((a, b) => a - b));
  }
  await writers.stop();
  const expected = [...writers.committed.values()].flat();
  await until(() => new Set(broker.labels).size >= expected.length);

  expect(usedLanes).toEqual([
    [0, 1, 2, 3],
    [0, 1],
  ]);
  expect(broker.labels.toSorted()).toEqual(expected.toSorted());
  for (const [key, labels] of writers.committed)
    expect(broker.labels.filter((label) => label.startsWith(`${key}:`))).toEqual(labels);
});

test('the change waits for a transaction that began before it, whose message is in the new lane of its key', async () => {
  const { database, topic } = fixture;
  const key = await movingKey(3);
  const open = await fixture.begin();
  await fixture.send('old', { key }, open);

  const first = await changeLanes(database, topic, 3, { ...by, timeout: 300 });
  expect(first).toMatchObject({ done: false, waitingFor: 'transactions' });
  await fixture.send('new', { key });
  await fixture.drain();
  expect(fixture.broker.labels).toEqual([]);

  await open.commit();
  expect(await changeLanes(database, topic, 3, by)).toEqual({ done: true, moved: 1 });
  expect(await placeOf('old')).toEqual({ lane: 2, rightLane: 2, workflow: 'lane/orders/2' });
  await fixture.drain({ lane: { topic, lane: 0 } });
  expect(fixture.broker.labels).toEqual([]);
  await fixture.drain({ lane: { topic, lane: 2 } });
  expect(fixture.broker.labels).toEqual(['old', 'new']);
});

test('the change waits for a transaction that has read the old number but not written yet', async () => {
  const { database, topic } = fixture;
  const key = await movingKey(2);
  const open = await fixture.begin();
  await open.query('set transaction isolation level repeatable read');
  await open.query('select 1 from outbox.topic');

  const first = await changeLanes(database, topic, 2, { ...by, timeout: 300 });
  expect(first).toMatchObject({ done: false, waitingFor: 'transactions' });
  await fixture.send('old', { key }, open);
  await open.commit();
  expect(await changeLanes(database, topic, 2, by)).toEqual({ done: true, moved: 1 });
  expect(await placeOf('old')).toMatchObject({ lane: 1, rightLane: 1 });
});

test('waiting, retrying, blocked and failed messages move with their key, and published ones stay published', async () => {
  fixture = await fixture.renewed({ retry: ['1h'] });
  const { database, topic, broker } = fixture;
  const key = await movingKey(2);
  await fixture.send('published', { key });
  await fixture.send('failed', { key });
  broker.judge = ({ payload }) => (payload === '"failed"' ? 'permanent' : 'store');
  await fixture.drain();
  broker.judge = () => 'reject';
  await fixture.send('retrying', { key });
  await fixture.drain();
  await fixture.send('blocked', { key });
  await fixture.drain();
  await fixture.send('waiting', { key, afterMs: 3_600_000 });
  await fixture.send('ready', { key });

  expect(await changeLanes(database, topic, 2, by)).toEqual({ done: true, moved: 5 });
  expect(await fixture.states('published', 'failed', 'retrying', 'blocked', 'waiting', 'ready')).toEqual([
    'published',
    'failed',
    'retrying',
    'blocked',
    'waiting',
    'ready',
  ]);
  for (const label of ['failed', 'retrying', 'blocked', 'waiting', 'ready'])
    expect(await placeOf(label)).toMatchObject({ lane: 1 });
  expect((await placeOf('waiting')).workflow).toBe(`message/${fixture.idOf('waiting')}`);
  expect((await placeOf('blocked')).workflow).toBe('lane/orders/1');

  broker.judge = () => 'store';
  await fixture.release('retrying');
  await fixture.drain({ lane: { topic, lane: 1 } });
  await fixture.drain({ lane: { topic, lane: 1 } });
  expect(broker.labels).toEqual(['published', 'retrying', 'blocked', 'ready']);
});

test('messages that join a lane behind its cursor are delivered, and none that it has passed is delivered again', async () => {
  fixture = await fixture.renewed({ lanes: 2 });
  const { database, topic, broker } = fixture;
  const key = await movingKey(2);
  const early = await fixture.begin();
  await fixture.send('early', { key }, early);
  for (const label of ['a', 'b', 'c', 'd', 'e', 'f']) await fixture.send(label, { key: label });
  for (const lane of [0, 1]) await fixture.drain({ lane: { topic, lane } });
  await early.commit();
  // Lane 0 has seen the transaction of this one, and has passed its position.
  await fixture.send('seen', { key });
  await fixture.send('beyond', { key: await keyOfLane(0, 2) });
  await fixture.drain();
  const before = broker.labels.length;

  expect(await changeLanes(database, topic, 1, by)).toEqual({ done: true, moved: 2 });
  for (const lane of [0, 1]) await fixture.drain({ lane: { topic, lane } });
  expect(before).toBe(7);
  expect(broker.labels.slice(before)).toEqual(['early', 'seen']);
});

test('a call that died after any of its steps is completed by the next one', async () => {
  const { database, topic, broker } = fixture;
  const key = await movingKey(2);
  await fixture.send('1', { key });
  await beginChange(database, { topic, kind: 'lanes', wanted: 2 }, by);
  await fixture.drain();
  expect(broker.labels).toEqual([]);
  expect(await changeLanes(database, topic, 2, by)).toEqual({ done: true, moved: 1 });

  const back = await beginChange(database, { topic, kind: 'lanes', wanted: 1 }, by);
  await switchLanes(database, back, by);
  await fixture.send('2', { key });
  expect(await changeLanes(database, topic, 1, by)).toEqual({ done: true, moved: 1 });
  await fixture.drain();
  expect(broker.labels).toEqual(['1', '2']);
  const audit = await database.query<{ result: string }>('select result from outbox.audit order by id');
  expect(audit.map(({ result }) => result)).toEqual([
    'begun',
    'continued',
    'switched',
    'done',
    'begun',
    'switched',
    'continued',
    'done',
  ]);
});

test('changing to the old number reverts a change', async () => {
  const { database, topic } = fixture;
  const key = await movingKey(4);
  const open = await fixture.begin();
  await fixture.send('old', { key }, open);
  await changeLanes(database, topic, 4, { ...by, timeout: 0 });
  await fixture.send('between', { key });
  await open.commit();
  expect(await changeLanes(database, topic, 1, by)).toEqual({ done: true, moved: 1 });
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['old', 'between']);
});

test('the change waits for a relay that is sending; messages that a dead one may have sent are marked as suspect where they move', async () => {
  const { database, topic, broker } = fixture;
  const key = await movingKey(2);
  await fixture.send('sent', { key });
  let sending = false;
  let finish = (): void => undefined;
  broker.after = () =>
    new Promise((resolve) => {
      sending = true;
      finish = resolve;
    });
  const process = new MortalDatabase(fixture.database);
  const drain = fixture.drain({ database: process });
  await until(() => sending);
  const answer = await changeLanes(database, topic, 2, { ...by, timeout: 200 });
  expect(answer).toEqual({ done: false, waitingFor: 'deliveries', who: ['lane 0'] });

  // As far as anybody can see it is dead: it renews its lease no more.
  process.freeze();
  await fixture.lapse();
  expect(await changeLanes(database, topic, 2, by)).toEqual({ done: true, moved: 1 });
  process.thaw();
  finish();
  await drain;
  // The settle of the owner that was given up is fenced: its message is delivered again, and cannot be canceled.
  expect(await fixture.row('sent')).toMatchObject({ state: 'ready', maybePublished: true });
});
