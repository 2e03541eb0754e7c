import { expect, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { claimSql } from '../../../src/store/lane/claim.ts';
import { beginChange } from '../../../src/store/lane/lanes-change.ts';
import { replaceMessages } from '../../../src/store/lane/lanes-replace.ts';
import { endLanesChange, switchLanes } from '../../../src/store/lane/lanes-switch.ts';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { releaseBlocked } from '../../../src/store/message/release-blocked.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

/** K1 retries, K2 came later and was passed behind it, K3 is not seen by the lane yet. */
async function blockedKey(): Promise<void> {
  fixture.broker.judge = (message) => (labelOf(message) === 'K1' ? 'reject' : 'store');
  await fixture.send('K1', { key: 'K' });
  await fixture.drain();
  await fixture.send('K2', { key: 'K' });
  await fixture.send('other', { key: 'L' });
  await fixture.drain();
  expect(await fixture.states('K1', 'K2', 'other')).toEqual(['retrying', 'blocked', 'published']);
  await fixture.send('K3', { key: 'K' });
  fixture.broker.judge = () => 'store';
  fixture.broker.log.length = 0;
}

test('a key that is freed while the lane finds that no freed keys are left continues once that is committed', {
  tags: ['unblocked-key-continues'],
}, async () => {
  await blockedKey();
  fixture.broker.judge = () => 'reject';
  await fixture.send('M1', { key: 'M' });
  await fixture.drain();
  fixture.broker.judge = () => 'store';
  const canceling = await fixture.begin();
  expect(await fixture.cancel('K1', canceling)).toBe('canceled');
  expect(await fixture.cancel('M1')).toBe('canceled');
  await fixture.drain();
  const [lane] = await fixture.database.query<{ running: number }>(
    'select (select count(*)::integer from pg_snapshot_xip(freed_snapshot)) as running from outbox.lane',
  );
  expect(lane?.running).toBeGreaterThan(0);

  await canceling.commit();

  expect(await wantedLanes(fixture.database, ['orders'])).toHaveLength(1);
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['K2', 'K3']);
});

test('while the row of the lane is locked a freed key continues, and is noted as long', async () => {
  await blockedKey();
  expect(await fixture.cancel('K1')).toBe('canceled');
  const locking = await fixture.begin();
  await locking.query('select from outbox.lane for update');

  expect(await releaseBlocked(fixture.database, fixture.lane, false)).toMatchObject({
    freed: true,
    released: 1,
  });
  await locking.rollback();

  expect(await releaseBlocked(fixture.database, fixture.lane, false)).toMatchObject({
    freed: false,
    released: 0,
  });
});

test('a head released between the release of blocked messages and the claim goes alone, and its followers after it', async () => {
  await blockedKey();
  await fixture.drain();
  // The drain's own two statements, with the release of the head in between.
  await releaseBlocked(fixture.database, fixture.lane, false);
  await fixture.release('K1');
  await fixture.send('K4', { key: 'K' });

  await fixture.drain({ batch: { messages: 1 } });

  expect(fixture.broker.labels).toEqual(['K1', 'K2', 'K3', 'K4']);
});

test('a head that vanishes between the release of blocked messages and the claim lets nothing overtake its followers', async () => {
  await blockedKey();
  // K2 is blocked already and K3 is not; only K2 in the same snapshot tells the claim that K3 has to wait.
  let canceled = '';
  const database: Database = {
    ...fixture.database,
    query: async (text, values) => {
      if (text === claimSql && canceled === '') canceled = await fixture.cancel('K1');
      return fixture.database.query(text, values);
    },
  };

  await fixture.drain({ database });

  expect(canceled).toBe('canceled');
  expect(fixture.broker.labels).toEqual(['K2', 'K3']);
});

test('a follower that is being canceled keeps later ones blocked, and the release does not wait for it', async () => {
  await blockedKey();
  await fixture.drain();
  const canceling = await fixture.begin();
  await fixture.cancel('K2', canceling);
  await fixture.cancel('K1');

  // Asked first: a drain would hold again what was released too early, and never come to an end.
  expect(await releaseBlocked(fixture.database, fixture.lane, false)).toMatchObject({
    freed: true,
    released: 0,
  });
  await fixture.drain();
  expect(fixture.broker.labels).toEqual([]);
  await canceling.rollback();
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['K2', 'K3']);
});

test('a follower whose cancel commits is skipped', async () => {
  await blockedKey();
  await fixture.drain();
  const canceling = await fixture.begin();
  await fixture.cancel('K2', canceling);
  await fixture.cancel('K1');
  await fixture.drain();

  await canceling.commit();
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['K3']);
  expect(await fixture.states('K1', 'K2', 'K3')).toEqual(['canceled', 'canceled', 'published']);
});

test('followers of a permanent failure in the same batch wait until it is settled, then continue', async () => {
  fixture.broker.judge = (message) => (labelOf(message) === 'K1' ? 'permanent' : 'store');
  for (const label of ['K1', 'K2', 'K3']) await fixture.send(label, { key: 'K' });
  let atSecondBatch: readonly string[] = [];
  fixture.broker.before = async () => {
    if (fixture.broker.batches.length === 2) atSecondBatch = await fixture.states('K1');
  };

  await fixture.drain();

  expect(atSecondBatch).toEqual(['failed']);
  expect(fixture.broker.labels).toEqual(['K2', 'K3']);
});

test('a message that has used up its attempts is failed, and under release-key its followers continue', async () => {
  fixture = await fixture.renewed({ retry: ['10ms'], exhausted: 'release-key' });
  fixture.broker.judge = (message) => (labelOf(message) === 'K1' ? 'reject' : 'store');
  await fixture.send('K1', { key: 'K' });
  await fixture.send('K2', { key: 'K' });
  await fixture.drain();
  expect(await fixture.states('K1', 'K2')).toEqual(['retrying', 'blocked']);
  await fixture.release('K1');

  await fixture.drain();

  expect(await fixture.states('K1', 'K2')).toEqual(['failed', 'published']);
  expect((await fixture.row('K1')).attempts).toBe(2);
});

test('under block-key a failed message blocks its key until it is retried', async () => {
  fixture = await fixture.renewed({ exhausted: 'block-key' });
  fixture.broker.judge = (message) => (labelOf(message) === 'K1' ? 'permanent' : 'store');
  await fixture.send('K1', { key: 'K' });
  await fixture.send('K2', { key: 'K' });
  await fixture.drain();
  await fixture.send('K3', { key: 'K' });
  await fixture.send('other', { key: 'L' });
  await fixture.drain();
  expect(await fixture.states('K1', 'K2', 'K3', 'other')).toEqual([
    'failed',
    'blocked',
    'blocked',
    'published',
  ]);

  fixture.broker.judge = () => 'store';
  await fixture.database.query(
    `update outbox.message set state = 'ready', xid = pg_current_xact_id() where id = $1`,
    [fixture.idOf('K1')],
  );
  await fixture.drain();

  expect(fixture.broker.labels).toEqual(['other', 'K1', 'K2', 'K3']);
});

test('a key that was freed before a change of lanes goes on after it, although its lane is drained in between', async () => {
  const { broker, database, topic } = fixture;
  const keys = ['k0', 'k1', 'k2', 'k3'];
  broker.judge = (message) => (labelOf(message).startsWith('first') ? 'reject' : 'store');
  for (const key of keys) await fixture.send(`first ${key}`, { key });
  await fixture.drain();
  for (const key of keys) await fixture.send(`second ${key}`, { key });
  await fixture.drain();
  for (const key of keys) await fixture.cancel(`first ${key}`);
  broker.log.length = 0;

  const by = { actor: 'ada', reason: 'as told' };
  const change = await beginChange(database, { topic, kind: 'lanes', wanted: 4 }, by);
  await switchLanes(database, change, by);
  await replaceMessages(database, change);
  for (let lane = 0; lane < 4; lane += 1) await fixture.drain({ lane: { topic, lane } });
  expect(broker.labels).toEqual([]);
  expect(await endLanesChange(database, change, by)).toBe(true);
  for (let lane = 0; lane < 4; lane += 1) await fixture.drain({ lane: { topic, lane } });
  expect(broker.labels.toSorted()).toEqual(keys.map((key) => `second ${key}`));
});
