import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../src/store/database/database.ts';
import { claimSql } from '../../src/store/lane/claim.ts';
import { releaseHeld } from '../../src/store/message/release-held.ts';
import { type LaneBench, laneBench } from '../support/fixtures/lane-bench.ts';
import { labelOf } from '../support/kafka/scripted-broker.ts';

let bench: LaneBench;
beforeEach(async () => {
  bench = await laneBench();
});
afterEach(() => bench.drop());

/** K1 retries, K2 came later and was passed behind it, K3 is not seen by the lane yet. */
async function blockedKey(): Promise<void> {
  bench.broker.judge = (message) => (labelOf(message) === 'K1' ? 'reject' : 'store');
  await bench.send('K1', { key: 'K' });
  await bench.drain();
  await bench.send('K2', { key: 'K' });
  await bench.send('other', { key: 'L' });
  await bench.drain();
  expect(await bench.states('K1', 'K2', 'other')).toEqual(['retrying', 'held', 'published']);
  await bench.send('K3', { key: 'K' });
  bench.broker.judge = () => 'store';
  bench.broker.log.length = 0;
}

test('a cancel of the head frees its key in order', async () => {
  await blockedKey();

  expect(await bench.cancel('K1')).toBe('canceled');
  await bench.drain();

  expect(bench.broker.labels).toEqual(['K2', 'K3']);
});

test('a release of the head delivers it before its followers', async () => {
  await blockedKey();

  await bench.release('K1');
  await bench.drain();

  expect(bench.broker.labels).toEqual(['K1', 'K2', 'K3']);
});

test('while the head retries nothing of its key is sent, however often the lane is drained', async () => {
  await blockedKey();

  await bench.drain();
  await bench.drain();

  expect(bench.broker.labels).toEqual([]);
  expect(await bench.states('K1', 'K2', 'K3')).toEqual(['retrying', 'held', 'held']);
});

test('a head released between the held release and the claim goes alone; its followers come after it', async () => {
  await blockedKey();
  await bench.drain();
  // The drain's own two statements, with the release of the head in between.
  await releaseHeld(bench.database, bench.lane, false);
  await bench.release('K1');
  await bench.send('K4', { key: 'K' });

  await bench.drain({ batch: { messages: 1 } });

  expect(bench.broker.labels).toEqual(['K1', 'K2', 'K3', 'K4']);
});

test('a head that vanishes between the held release and the claim lets nobody overtake its followers', async () => {
  await blockedKey();
  // K2 is held already and K3 is not; only K2 in the same snapshot tells the claim that K3 has to wait.
  let canceled = '';
  const database: Database = {
    ...bench.database,
    query: async (text, values) => {
      if (text === claimSql && canceled === '') canceled = await bench.cancel('K1');
      return bench.database.query(text, values);
    },
  };

  await bench.drain({ database });

  expect(canceled).toBe('canceled');
  expect(bench.broker.labels).toEqual(['K2', 'K3']);
});

test('a follower that is being canceled keeps those behind it held, and the release does not wait for it', async () => {
  await blockedKey();
  await bench.drain();
  const canceling = await bench.begin();
  await bench.cancel('K2', canceling);
  await bench.cancel('K1');

  // Asked first: a drain would hold again what was released too early, and never come to an end.
  expect(await releaseHeld(bench.database, bench.lane, false)).toMatchObject({ held: true, released: 0 });
  await bench.drain();
  expect(bench.broker.labels).toEqual([]);
  await canceling.rollback();
  await bench.drain();

  expect(bench.broker.labels).toEqual(['K2', 'K3']);
});

test('a follower whose cancel commits is skipped', async () => {
  await blockedKey();
  await bench.drain();
  const canceling = await bench.begin();
  await bench.cancel('K2', canceling);
  await bench.cancel('K1');
  await bench.drain();

  await canceling.commit();
  await bench.drain();

  expect(bench.broker.labels).toEqual(['K3']);
  expect(await bench.states('K1', 'K2', 'K3')).toEqual(['canceled', 'canceled', 'published']);
});

test('followers of a permanent failure in the same batch wait until it is settled, then go on', async () => {
  bench.broker.judge = (message) => (labelOf(message) === 'K1' ? 'permanent' : 'store');
  for (const label of ['K1', 'K2', 'K3']) await bench.send(label, { key: 'K' });
  let atSecondBatch: readonly string[] = [];
  bench.broker.before = async () => {
    if (bench.broker.batches.length === 2) atSecondBatch = await bench.states('K1');
  };

  await bench.drain();

  expect(atSecondBatch).toEqual(['failed']);
  expect(bench.broker.labels).toEqual(['K2', 'K3']);
});

test('keys do not wait for each other: a retrying key leaves the others alone', async () => {
  await blockedKey();
  for (let n = 0; n < 3; n += 1) await bench.send(`free-${n}`, { key: `free-${n}` });
  await bench.send('no-key');

  await bench.drain();

  expect(bench.broker.labels).toEqual(['free-0', 'free-1', 'free-2', 'no-key']);
});

test('a message without a key blocks nothing', async () => {
  bench.broker.judge = (message) => (labelOf(message) === 'bad' ? 'reject' : 'store');
  for (const label of ['bad', 'good', 'better']) await bench.send(label);

  await bench.drain();

  expect(bench.broker.labels).toEqual(['good', 'better']);
  expect(await bench.states('bad')).toEqual(['retrying']);
});

test('tries used up fail the message, and under release-key its followers go on', async () => {
  await bench.drop();
  bench = await laneBench({ retry: ['10ms'], exhausted: 'release-key' });
  bench.broker.judge = (message) => (labelOf(message) === 'K1' ? 'reject' : 'store');
  await bench.send('K1', { key: 'K' });
  await bench.send('K2', { key: 'K' });
  await bench.drain();
  expect(await bench.states('K1', 'K2')).toEqual(['retrying', 'held']);
  await bench.release('K1');

  await bench.drain();

  expect(await bench.states('K1', 'K2')).toEqual(['failed', 'published']);
  expect((await bench.row('K1')).attempts).toBe(2);
});

test('under hold-key a failed message blocks its key until it is retried', async () => {
  await bench.drop();
  bench = await laneBench({ exhausted: 'hold-key' });
  bench.broker.judge = (message) => (labelOf(message) === 'K1' ? 'permanent' : 'store');
  await bench.send('K1', { key: 'K' });
  await bench.send('K2', { key: 'K' });
  await bench.drain();
  await bench.send('K3', { key: 'K' });
  await bench.send('other', { key: 'L' });
  await bench.drain();
  expect(await bench.states('K1', 'K2', 'K3', 'other')).toEqual(['failed', 'held', 'held', 'published']);

  bench.broker.judge = () => 'store';
  await bench.database.query(
    `update outbox.message set state = 'ready', xid = pg_current_xact_id() where id = $1`,
    [bench.idOf('K1')],
  );
  await bench.drain();

  expect(bench.broker.labels).toEqual(['other', 'K1', 'K2', 'K3']);
});
