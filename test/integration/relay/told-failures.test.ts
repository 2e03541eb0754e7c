import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { relayTroubleLines } from '../../../src/app/trouble-lines.ts';
import { type CrashPoint, setTrap } from '../../../src/core/crash-point.ts';
import { changeLanes } from '../../../src/operations/delivery/lanes.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { beginChange } from '../../../src/store/lane/lanes-change.ts';
import { replaceMessages } from '../../../src/store/lane/lanes-replace.ts';
import { endLanesChange, switchLanes } from '../../../src/store/lane/lanes-switch.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { noteTold, untoldRange } from '../../../src/store/lane/untold.ts';
import { takeOut } from '../../../src/store/message/take-out.ts';
import { MortalDatabase, ProcessDied } from '../../support/faults/mortal-database.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { startTestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made), { retry: ['1h'] });

type Told = Extract<RelayEvent, { type: 'attempt-failed' | 'failed' }>;

const told = (events: readonly RelayEvent[] = fixture.events): readonly Told[] =>
  events.filter((event) => event.type === 'attempt-failed' || event.type === 'failed');

const place = { topic: 'orders', lane: 0, transport: 'scripted', address: 'orders' };

/** A relay dies where the point is passed for the first time; the lease is over then. */
async function dieAt(point: CrashPoint, lane = fixture.lane): Promise<void> {
  const database = new MortalDatabase(fixture.database);
  const disarm = setTrap(point, () => {
    database.kill();
    throw new ProcessDied(`The process died at ${point}.`);
  });
  try {
    await expect(fixture.drain({ database, lane })).rejects.toBeInstanceOf(ProcessDied);
  } finally {
    disarm();
  }
  await fixture.lapse();
}

test('each failed attempt is reported once with message, key, reason and offset, the last one as a final failure', {
  tags: ['failures-reported'],
}, async () => {
  const a = await fixture.send('A', { key: 'K' });
  const b = await fixture.send('B');
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'permanent');
  await fixture.drain();
  const refused = { ...place, id: b, key: null, attempt: 1, outcome: 'permanent' };
  expect(told()).toEqual([
    {
      ...place,
      type: 'attempt-failed',
      id: a,
      key: 'K',
      attempt: 1,
      outcome: 'rejected',
      error: 'rejected by the script',
      retryInMs: expect.any(Number),
    },
    { ...refused, type: 'failed', error: 'refused by the script' },
  ]);
  expect(told()[0]).toHaveProperty('retryInMs', expect.closeTo(3_600_000, -5.5));

  fixture.events.length = 0;
  fixture.broker.judge = () => 'lose';
  await fixture.release('A');
  await fixture.drain();
  const lost = { ...place, id: a, key: 'K', attempt: 2, outcome: 'ambiguous' };
  expect(told()).toEqual([{ ...lost, type: 'failed', error: 'lost by the script' }]);
});

test('acknowledged, deferred and blocked messages are not reported as failures', async () => {
  for (const label of ['A', 'B', 'C']) await fixture.send(label, { key: label === 'C' ? 'L' : 'K' });
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'store');
  await fixture.drain();

  expect(await fixture.states('A', 'B', 'C')).toEqual(['retrying', 'blocked', 'published']);
  expect(told().map(({ id }) => id)).toEqual([fixture.idOf('A')]);
});

test('the key of a topic that does not show keys is not reported', async () => {
  fixture = await fixture.renewed({ retry: [], visible: false });
  await fixture.send('A', { key: 'secret' });
  fixture.broker.judge = () => 'reject';
  await fixture.drain();

  expect(told()).toMatchObject([{ type: 'failed', id: fixture.idOf('A'), key: null }]);
  expect(JSON.stringify(fixture.events)).not.toContain('secret');
});

test('failures that a dead relay has settled but not reported are reported once by the next owner of its lane', {
  tags: ['failures-reported'],
}, async () => {
  const ids = [await fixture.send('A', { key: 'K' }), await fixture.send('B', { key: 'L' })];
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'reject' : 'permanent');
  await dieAt('relay:settled');
  expect(await fixture.states('A', 'B')).toEqual(['retrying', 'failed']);
  expect(told()).toEqual([]);

  await fixture.drain();
  await fixture.drain();

  expect(told()).toMatchObject([
    { type: 'attempt-failed', id: ids[0], key: 'K', attempt: 1, error: 'rejected by the script' },
    { type: 'failed', id: ids[1], key: 'L', attempt: 1, error: 'refused by the script' },
  ]);
});

test.each([
  [1, 4],
  [4, 1],
])(
  'failures that a dead relay has settled but not reported are reported although %i lanes have become %i',
  { tags: ['failures-reported'] },
  async (before, after) => {
    const change = (lanes: number) =>
      changeLanes(fixture.database, fixture.topic, lanes, { actor: 'ada', reason: 'as told' });
    await change(before);
    const ids: string[] = [];
    for (let n = 0; n < 16; n += 1) ids.push(await fixture.send(`${n}`, { key: `k${n}` }));
    fixture.broker.judge = () => 'permanent';
    for (let lane = 0; lane < before; lane += 1) await dieAt('relay:settled', { ...fixture.lane, lane });
    expect(told()).toEqual([]);

    expect(await change(after)).toMatchObject({ done: true });
    for (let lane = 0; lane < after; lane += 1) await fixture.drain({ lane: { ...fixture.lane, lane } });
    const reported = told();
    expect(reported.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    for (const { lane } of reported) expect(lane).toBeLessThan(after);
    const untold = await fixture.database.query('select from outbox.lane where untold_from is not null');
    expect(untold).toEqual([]);
  },
);

test('a drain during a change of lanes, and one that read before the last step, forget no failures', {
  tags: ['failures-reported'],
}, async () => {
  const ids = [await fixture.send('A', { key: 'k0' }), await fixture.send('B', { key: 'k1' })];
  fixture.broker.judge = () => 'permanent';
  await dieAt('relay:settled');
  const { database, topic } = fixture;
  const by = { actor: 'ada', reason: 'as told' };
  const change = await beginChange(database, { topic, kind: 'lanes', wanted: 4 }, by);
  await switchLanes(database, change, by);
  await replaceMessages(database, change);
  for (let lane = 0; lane < 4; lane += 1) await fixture.drain({ lane: { ...fixture.lane, lane } });
  expect(told()).toEqual([]);
  expect(await endLanesChange(database, change, by)).toBe(true);

  const owner = randomUUID();
  await acquireLane(database, fixture.lane, owner);
  const range = await untoldRange(database, fixture.lane, owner);
  if (range === undefined) throw new Error('The lane has untold failures.');
  await noteTold(database, fixture.lane, owner, { ...range, last: range.first });
  expect(await untoldRange(database, fixture.lane, owner)).toEqual(range);
  await fixture.lapse();
  for (let lane = 0; lane < 4; lane += 1) await fixture.drain({ lane: { ...fixture.lane, lane } });
  expect(
    told()
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(ids.toSorted());
});

test('a lane with nothing but failures of a dead relay is taken to report them', {
  tags: ['failures-reported'],
}, async () => {
  const id = await fixture.send('A');
  fixture.broker.judge = () => 'permanent';
  await dieAt('relay:settled');
  await fixture.lapse();
  expect(await wantedLanes(fixture.database, [fixture.topic])).toHaveLength(1);

  const relay = await startTestRelay(fixture);
  try {
    await until(() => told(relay.events).length > 0);
    await until(async () => (await fixture.laneRow()).owner === null);
  } finally {
    await relay.stop();
  }
  expect(told(relay.events)).toMatchObject([{ type: 'failed', id }]);
});

test('a relay that dies after reporting and before recording that is the only case of a repeated report', async () => {
  const id = await fixture.send('A');
  fixture.broker.judge = () => 'permanent';
  await dieAt('relay:told');
  await fixture.drain();
  await fixture.drain();

  expect(told()).toMatchObject([
    { type: 'failed', id },
    { type: 'failed', id },
  ]);
});

test('a settle whose answer is lost is repeated, and its failures are reported once', async () => {
  const id = await fixture.send('A');
  fixture.broker.judge = () => 'permanent';
  const { database } = fixture;
  let lost = false;
  await fixture.drain({
    database: {
      query: (text, values) => database.query(text, values),
      openSession: (channel, onNotify) => database.openSession(channel, onNotify),
      close: () => Promise.resolve(),
      transaction: async (work) => {
        const result = await database.transaction(work);
        if (lost) return result;
        lost = true;
        throw Object.assign(new Error('The connection was lost.'), { code: '08006' });
      },
    },
  });

  expect(lost).toBe(true);
  expect(told()).toMatchObject([{ type: 'failed', id, attempt: 1 }]);
});

test('a failure that the database does not keep is not reported: a receipt came first', async () => {
  const id = await fixture.send('A');
  fixture.broker.judge = () => 'store-silently';
  fixture.broker.after = async () => {
    await takeOut(fixture.database, [id]);
    await fixture.database.query(`update outbox.message set state = 'confirmed' where id = $1`, [id]);
  };
  await fixture.drain();

  expect(await fixture.states('A')).toEqual(['confirmed']);
  expect(told()).toEqual([]);
});

test('failures that could not be reported because the database was unreachable are left to the next owner', async () => {
  const id = await fixture.send('A');
  fixture.broker.judge = () => 'permanent';
  const database = new MortalDatabase(fixture.database);
  let refusals = 2;
  database.onStatement = (text) => {
    if (!text.includes('untold_from as first') || refusals === 0) return;
    refusals -= 1;
    throw new Error('The database is away.');
  };
  await fixture.drain({ database });
  expect(fixture.events).toContainEqual(expect.objectContaining({ type: 'error', during: 'tell' }));
  expect(told()).toEqual([]);

  await fixture.drain();
  expect(told()).toMatchObject([{ type: 'failed', id }]);
});

test('of hundreds of messages that fail in a batch each is reported, and the log has one line with their number', async () => {
  const lines: object[] = [];
  const log = relayTroubleLines({
    warn: (facts) => lines.push(facts),
    error: (facts) => lines.push(facts),
  });
  const ids: string[] = [];
  for (let n = 0; n < 300; n += 1) ids.push(await fixture.send(`A${n}`, { key: `K${n}` }));
  fixture.broker.judge = () => 'permanent';
  await fixture.drain({
    report: (event) => {
      fixture.events.push(event);
      log(event);
    },
  });

  expect(told().map(({ id }) => id)).toEqual(ids);
  expect(lines).toEqual([
    expect.objectContaining({ event: 'failed', id: ids[0], key: 'K0', ...place, attempt: 1 }),
  ]);
});
