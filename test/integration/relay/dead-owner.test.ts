import { expect, test } from 'vitest';
import { defaultTimings } from '../../../src/relay/timings.ts';
import { MortalDatabase, ProcessDied } from '../../support/faults/mortal-database.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

/** A relay that publishes a batch and dies between the acknowledgement and the settle. */
async function publishAndDie(): Promise<void> {
  const database = new MortalDatabase(fixture.database);
  fixture.broker.after = () => database.kill();
  await expect(fixture.drain({ database })).rejects.toBeInstanceOf(ProcessDied);
  fixture.broker.after = () => undefined;
  expect((await fixture.laneRow()).live, 'a dead process frees no lease').toBe(true);
  await fixture.lapse();
}

const labels = (prefix: string, count: number): readonly string[] =>
  [...Array(count).keys()].map((n) => `${prefix}${n}`);

async function sendAll(names: readonly string[]): Promise<void> {
  for (const name of names) await fixture.send(name, { key: name });
}

async function cancels(names: readonly string[]): Promise<readonly string[]> {
  return Promise.all(names.map((name) => fixture.cancel(name)));
}

test('nothing that a dead owner may have published can be canceled, even if the broker refuses it now', async () => {
  const names = labels('A', 3);
  await sendAll(names);
  await publishAndDie();

  fixture.broker.judge = () => 'reject';
  await fixture.drain();

  expect(await fixture.states(...names)).toEqual(Array(3).fill('retrying'));
  expect(await cancels(names)).toEqual(Array(3).fill('too-late'));
});

test('messages sent after the takeover can be canceled as usual', async () => {
  await sendAll(['old']);
  await publishAndDie();
  fixture.broker.judge = () => 'reject';
  let sent = false;
  fixture.broker.before = async () => {
    if (!sent) await fixture.send('new', { key: 'new' });
    sent = true;
  };

  await fixture.drain();

  expect(await fixture.states('old', 'new')).toEqual(['retrying', 'retrying']);
  expect(await cancels(['old', 'new'])).toEqual(['too-late', 'canceled']);
});

test('a follower that becomes blocked or is put back stays marked as possibly published by the dead owner', async () => {
  await fixture.send('K1', { key: 'K' });
  await fixture.send('K2', { key: 'K' });
  await fixture.send('put back', { key: 'L' });
  await publishAndDie();
  fixture.broker.judge = (message) => {
    if (labelOf(message) === 'K1') return 'reject';
    return message.key === 'L' ? 'hold' : 'store';
  };
  fixture.broker.probe = () => {
    fixture.broker.judge = () => 'reject';
    return Promise.resolve();
  };

  await fixture.drain();

  expect(await fixture.states('K1', 'K2', 'put back')).toEqual(['retrying', 'blocked', 'retrying']);
  expect(await cancels(['K1', 'K2', 'put back'])).toEqual(Array(3).fill('too-late'));
});

test('the suspicion outlives the run that detected it', async () => {
  const names = labels('A', 6);
  await sendAll(names);
  await publishAndDie();
  // The new owner handles two, is stopped, and frees the lane: the next one takes over from no dead owner.
  const stop = new AbortController();
  fixture.broker.judge = () => 'reject';
  fixture.broker.after = () => stop.abort();
  expect(await fixture.drain({ batch: { messages: 2 }, signal: stop.signal })).toBe('more');
  expect(await fixture.laneRow()).toMatchObject({ owner: null, suspect: expect.any(String) });
  fixture.broker.after = () => undefined;

  await fixture.drain({ batch: { messages: 2 } });

  expect(await fixture.states(...names)).toEqual(Array(6).fill('retrying'));
  expect(await cancels(names)).toEqual(Array(6).fill('too-late'));
});

test('after two deaths in a row, canceling messages that either owner may have published is too late', async () => {
  const names = labels('A', 4);
  await sendAll(names);
  await publishAndDie();
  await sendAll(['later']);
  await publishAndDie();
  fixture.broker.judge = () => 'reject';

  await fixture.drain();

  expect(await cancels([...names, 'later'])).toEqual(Array(5).fill('too-late'));
});

test('a takeover stopped before its first claim leaves the suspicion to the next owner', async () => {
  await sendAll(['A']);
  await publishAndDie();
  expect(await fixture.drain({ signal: AbortSignal.abort() })).toBe('more');

  fixture.broker.judge = () => 'reject';
  await fixture.drain();

  expect(await fixture.cancel('A')).toBe('too-late');
});

test('a settle that the database refuses until the run ends leaves its batch suspect', async () => {
  await sendAll(['A']);
  await fixture.database.query(`alter table outbox.batch add constraint refuse check (count < 0)`);
  // Long enough for a slow machine to come to the settle.
  const timings = { ...defaultTimings, drainTimeoutMs: 3_000, probeIntervalMs: 20 };
  await expect(fixture.drain({ timings })).rejects.toMatchObject({ code: '23514' });
  await fixture.database.query(`alter table outbox.batch drop constraint refuse`);
  fixture.broker.judge = () => 'reject';

  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['A']);
  expect(await fixture.cancel('A')).toBe('too-late');
});

test('a settle that the database refuses for a while is repeated, and nothing is sent twice', async () => {
  await sendAll(['A']);
  await fixture.database.query(`alter table outbox.batch add constraint refuse check (count < 0)`);
  const draining = fixture.drain();
  await until(async () => (await fixture.laneRow()).hold?.scope === 'settle');
  await fixture.database.query(`alter table outbox.batch drop constraint refuse`);

  expect(await draining).toBe('quiet');
  expect(fixture.broker.labels).toEqual(['A']);
  expect(await fixture.laneRow()).toMatchObject({ hold: null, owner: null });
});

test('a process that dies during a settle has written all of it or nothing', async () => {
  fixture.broker.judge = (message) => (message.key === 'A0' ? 'reject' : 'store');
  const names = labels('A', 4);
  await sendAll(names);
  // One statement later than the last attempt each time, until the whole run survives.
  for (let statements = 0; ; statements += 1) {
    const database = new MortalDatabase(fixture.database);
    database.dieAfter(statements);
    const died = await fixture.drain({ database }).then(
      () => false,
      () => true,
    );
    const { cursor } = await fixture.laneRow();
    const [row] = await fixture.database.query<{ attempts: number }>(
      `select count(*)::integer as attempts from outbox.attempt`,
    );
    expect(row?.attempts === 0, `after ${statements} statements`).toBe(cursor === '0');
    if (!died) break;
    await fixture.lapse();
  }
  expect(await fixture.states(...names)).toEqual(['retrying', 'published', 'published', 'published']);
});
