import { afterEach, beforeEach, expect, test } from 'vitest';
import { defaultTimings } from '../../src/relay/timings.ts';
import { MortalDatabase, ProcessDied } from '../support/faults/mortal-database.ts';
import { type LaneBench, laneBench } from '../support/fixtures/lane-bench.ts';
import { until } from '../support/fixtures/until.ts';
import { labelOf } from '../support/kafka/scripted-broker.ts';

let bench: LaneBench;
beforeEach(async () => {
  bench = await laneBench();
});
afterEach(() => bench.drop());

/** A relay that publishes a batch and dies between the acknowledgement and the settle. */
async function publishAndDie(): Promise<void> {
  const database = new MortalDatabase(bench.database);
  bench.broker.after = () => database.kill();
  await expect(bench.drain({ database })).rejects.toBeInstanceOf(ProcessDied);
  bench.broker.after = () => undefined;
  expect((await bench.laneRow()).live, 'a dead process frees no lease').toBe(true);
  await bench.lapse();
}

const labels = (prefix: string, count: number): readonly string[] =>
  [...Array(count).keys()].map((n) => `${prefix}${n}`);

async function sendAll(names: readonly string[]): Promise<void> {
  for (const name of names) await bench.send(name, { key: name });
}

async function cancels(names: readonly string[]): Promise<readonly string[]> {
  return Promise.all(names.map((name) => bench.cancel(name)));
}

test('what a dead owner published is published again, and every message stays in its state until then', async () => {
  await sendAll(['A', 'B']);
  await publishAndDie();
  expect(await bench.states('A', 'B')).toEqual(['ready', 'ready']);

  await bench.drain();

  expect(bench.broker.labels).toEqual(['A', 'B', 'A', 'B']);
  expect(await bench.states('A', 'B')).toEqual(['published', 'published']);
});

test('nothing that a dead owner may have published can be canceled, also when the broker refuses it now', async () => {
  const names = labels('A', 3);
  await sendAll(names);
  await publishAndDie();

  bench.broker.judge = () => 'reject';
  await bench.drain();

  expect(await bench.states(...names)).toEqual(Array(3).fill('retrying'));
  expect(await cancels(names)).toEqual(Array(3).fill('too-late'));
});

test('a first claim smaller than that of the dead owner still covers all that it may have published', async () => {
  const names = labels('A', 9);
  await sendAll(names);
  await publishAndDie();

  bench.broker.judge = () => 'reject';
  await bench.drain({ batch: { messages: 2 } });

  expect(await cancels(names)).toEqual(Array(9).fill('too-late'));
});

test('messages sent after the takeover can be canceled as ever', async () => {
  await sendAll(['old']);
  await publishAndDie();
  bench.broker.judge = () => 'reject';
  let sent = false;
  bench.broker.before = async () => {
    if (!sent) await bench.send('new', { key: 'new' });
    sent = true;
  };

  await bench.drain();

  expect(await bench.states('old', 'new')).toEqual(['retrying', 'retrying']);
  expect(await cancels(['old', 'new'])).toEqual(['too-late', 'canceled']);
});

test('a follower that becomes held, or is put back, remembers what the dead owner may have done', async () => {
  await bench.send('K1', { key: 'K' });
  await bench.send('K2', { key: 'K' });
  await bench.send('held back', { key: 'L' });
  await publishAndDie();
  bench.broker.judge = (message) => {
    if (labelOf(message) === 'K1') return 'reject';
    return message.key === 'L' ? 'hold' : 'store';
  };
  bench.broker.probe = () => {
    bench.broker.judge = () => 'reject';
    return Promise.resolve();
  };

  await bench.drain();

  expect(await bench.states('K1', 'K2', 'held back')).toEqual(['retrying', 'held', 'retrying']);
  expect(await cancels(['K1', 'K2', 'held back'])).toEqual(Array(3).fill('too-late'));
});

test('the suspicion outlives the run that learned it', async () => {
  const names = labels('A', 6);
  await sendAll(names);
  await publishAndDie();
  // The new owner handles two, is told to stop, and frees the lane: the next one takes over from nobody dead.
  const stop = new AbortController();
  bench.broker.judge = () => 'reject';
  bench.broker.after = () => stop.abort();
  expect(await bench.drain({ batch: { messages: 2 }, signal: stop.signal })).toBe('more');
  expect(await bench.laneRow()).toMatchObject({ owner: null, suspect: expect.any(String) });
  bench.broker.after = () => undefined;

  await bench.drain({ batch: { messages: 2 } });

  expect(await bench.states(...names)).toEqual(Array(6).fill('retrying'));
  expect(await cancels(names)).toEqual(Array(6).fill('too-late'));
});

test('after two deaths in a row, what either of them may have published is too late to cancel', async () => {
  const names = labels('A', 4);
  await sendAll(names);
  await publishAndDie();
  await sendAll(['later']);
  await publishAndDie();
  bench.broker.judge = () => 'reject';

  await bench.drain();

  expect(await cancels([...names, 'later'])).toEqual(Array(5).fill('too-late'));
});

test('a takeover that is stopped before its first claim leaves the suspicion to the next owner', async () => {
  await sendAll(['A']);
  await publishAndDie();
  expect(await bench.drain({ signal: AbortSignal.abort() })).toBe('more');

  bench.broker.judge = () => 'reject';
  await bench.drain();

  expect(await bench.cancel('A')).toBe('too-late');
});

test('a settle that the database refuses to the end leaves a lane of which the batch may be published', async () => {
  await sendAll(['A']);
  await bench.database.query(`alter table outbox.batch add constraint refuse check (count < 0)`);
  // Long enough for a slow machine to come to the settle.
  const timings = { ...defaultTimings, runMs: 1_500, probeMs: 20 };
  await expect(bench.drain({ timings })).rejects.toMatchObject({ code: '23514' });
  await bench.database.query(`alter table outbox.batch drop constraint refuse`);
  bench.broker.judge = () => 'reject';

  await bench.drain();

  expect(bench.broker.labels).toEqual(['A']);
  expect(await bench.cancel('A')).toBe('too-late');
});

test('a settle that the database refuses for a while is said again, and nothing is sent twice', async () => {
  await sendAll(['A']);
  await bench.database.query(`alter table outbox.batch add constraint refuse check (count < 0)`);
  const draining = bench.drain();
  await until(async () => (await bench.laneRow()).hold?.scope === 'settle');
  await bench.database.query(`alter table outbox.batch drop constraint refuse`);

  expect(await draining).toBe('quiet');
  expect(bench.broker.labels).toEqual(['A']);
  expect(await bench.laneRow()).toMatchObject({ hold: null, owner: null });
});

test('the suspicion ends with a quiet end: what is rejected afterwards can be canceled', async () => {
  await sendAll(['A']);
  await publishAndDie();
  expect(await bench.drain()).toBe('quiet');
  expect((await bench.laneRow()).suspect).toBeNull();

  bench.broker.judge = () => 'reject';
  await sendAll(['B']);
  await bench.drain();

  expect(await bench.cancel('B')).toBe('canceled');
});

test('a process that dies in the middle of a settle has written all of it or nothing', async () => {
  bench.broker.judge = (message) => (message.key === 'A0' ? 'reject' : 'store');
  const names = labels('A', 4);
  await sendAll(names);
  // One statement later than the last attempt each time, until the whole run survives.
  for (let statements = 0; ; statements += 1) {
    const database = new MortalDatabase(bench.database);
    database.dieAfter(statements);
    const died = await bench.drain({ database }).then(
      () => false,
      () => true,
    );
    const { cursor } = await bench.laneRow();
    const [row] = await bench.database.query<{ attempts: number }>(
      `select count(*)::integer as attempts from outbox.attempt`,
    );
    expect(row?.attempts === 0, `after ${statements} statements`).toBe(cursor === '0');
    if (!died) break;
    await bench.lapse();
  }
  expect(await bench.states(...names)).toEqual(['retrying', 'published', 'published', 'published']);
});
