// @module-tag apart
import { expect, test } from 'vitest';
import { adopt } from '../../../src/operations/delivery/adopt.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { readInstallation } from '../../../src/store/installation/installation.ts';
import { moveLeaves } from '../../../src/store/retention/leaves.ts';
import { verifyStructure } from '../../../src/store/verify/structure.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { leafOf, leavesOf } from '../../support/fixtures/leaves.ts';
import { anotherCluster, burnAhead, movedFixture } from '../../support/fixtures/moved-fixture.ts';

const elsewhere = anotherCluster();
const { ends } = elsewhere;

const by = { actor: 'test' };

const dayMs = 86_400_000;
const roundRules = {
  leafMs: dayMs,
  archiveAfterMs: dayMs,
  suspectAgeMs: dayMs,
  historyMs: 90 * dayMs,
};

/** An outbox whose cluster is ahead of the other one. */
async function originalFixture(): Promise<LaneFixture> {
  const fixture = await laneFixture({ lanes: 2 });
  ends.push(() => fixture.drop());
  const other = openDatabase({ url: elsewhere.url, connections: 1 });
  ends.push(() => other.close());
  await burnAhead(fixture.database, other, 1_000);
  return fixture;
}

/**
 * A copy as logical replication keeps it in a physical copy of the cluster: rows have the transaction ids of the original, and
 * both clusters have the same identifier.
 */
async function keptInStep(fixture: LaneFixture): Promise<LaneFixture> {
  const copy = await movedFixture(fixture, elsewhere.url, ends);
  await copy.database.query(
    `update outbox.installation set system_identifier = (select c.system_identifier::text from pg_control_system() c),
       database_oid = (select oid from pg_database where datname = current_database())`,
  );
  return copy;
}

test('a physical copy kept current by logical replication is refused, and once adopted sends what began to retry on its original', {
  tags: ['no-loss'],
}, async () => {
  const fixture = await originalFixture();
  const { broker, topic } = fixture;
  broker.judge = ({ payload }) => (payload === '"retrying"' ? 'reject' : 'store');
  for (const label of ['passed', 'retrying', 'passed, too']) await fixture.send(label, { key: label });
  for (const lane of [0, 1]) await fixture.drain({ lane: { topic, lane } });
  expect(await fixture.states('passed', 'retrying')).toEqual(['published', 'retrying']);
  const copy = await keptInStep(fixture);
  copy.know('retrying', fixture.idOf('retrying'));

  await expect(readInstallation(copy.database)).rejects.toMatchObject({ code: 'OUTBOX_INSTALLATION_MOVED' });
  expect(await readInstallation(fixture.database)).toMatch(/^[0-9a-f-]{36}$/);
  expect(await adopt(copy.database, by)).toMatchObject({ adopted: true, settled: 2, ready: 0 });
  await readInstallation(copy.database);
  await copy.release('retrying');
  for (const lane of [0, 1]) await copy.drain({ lane: { topic, lane } });
  expect(copy.broker.labels).toEqual(['retrying']);
  expect(await adopt(copy.database, by)).toMatchObject({ adopted: false });
});

test('a key that is freed on an adopted copy continues, although its lane found no freed keys left on the original', {
  tags: ['unblocked-key-continues'],
}, async () => {
  const fixture = await originalFixture();
  const { broker, topic } = fixture;
  const drained = async (of: LaneFixture) => {
    for (const lane of [0, 1]) await of.drain({ lane: { topic, lane } });
  };
  broker.judge = ({ payload }) => (payload === '"follower"' ? 'store' : 'reject');
  await fixture.send('other', { key: 'k' });
  await drained(fixture);
  expect(await fixture.cancel('other')).toBe('canceled');
  await drained(fixture);
  for (const label of ['head', 'follower']) await fixture.send(label, { key: 'k' });
  await drained(fixture);
  expect(await fixture.states('head', 'follower')).toEqual(['retrying', 'blocked']);
  const copy = await keptInStep(fixture);
  for (const label of ['head', 'follower']) copy.know(label, fixture.idOf(label));
  expect(await adopt(copy.database, by)).toMatchObject({ adopted: true });

  expect(await copy.cancel('head')).toBe('canceled');
  await drained(copy);

  expect(copy.broker.labels).toEqual(['follower']);
});

test('on an adopted copy a message that retries keeps its key back, and once it is over its lane finds that nothing blocks', {
  tags: ['order-per-key'],
}, async () => {
  const fixture = await originalFixture();
  const { broker, topic } = fixture;
  broker.judge = () => 'reject';
  const lane = { topic, lane: 0 };
  const [row] = await fixture.database.query<{ key: string }>(
    `select 'k' || n as key from generate_series(1, 100) n where outbox.lane_of('k' || n, null, 2) = 0 limit 1`,
  );
  const key = row?.key ?? '';
  await fixture.send('head', { key });
  await fixture.drain({ lane });
  const copy = await keptInStep(fixture);
  copy.know('head', fixture.idOf('head'));
  expect(await adopt(copy.database, by)).toMatchObject({ adopted: true });

  await copy.send('follower', { key });
  await copy.drain({ lane });
  expect(await copy.states('head', 'follower')).toEqual(['retrying', 'blocked']);

  expect(await copy.cancel('head')).toBe('canceled');
  await copy.drain({ lane });
  await copy.send('last', { key });
  // Another owner, which looks at once: one that has just looked rests.
  await copy.drain({ lane: { ...lane } });
  expect(copy.broker.labels).toEqual(['follower', 'last']);
  expect(await copy.database.query('select blocking_xid from outbox.lane where n = 0')).toEqual([
    { blocking_xid: null },
  ]);
});

test('a copy that lacks the leaf that its original opened meanwhile has one once it is adopted, and stores in it', async () => {
  const fixture = await originalFixture();
  const copy = await keptInStep(fixture);
  // As replication copies them: rows of outbox.leaf, and no table.
  await copy.database.query('update outbox.leaf set closed_at = now()');
  await copy.database.query('insert into outbox.leaf (n, opened_at) values (2, now())');
  expect(await adopt(copy.database, { ...by, newInstallation: true })).toMatchObject({ adopted: true });

  const id = await copy.send('new', { key: 'k' });
  expect(await leafOf(copy.database, id)).toBe('log_2');
});

test('what was sent to a leaf of a copy that its original had archived is delivered, and the leaf goes through all steps again', {
  tags: ['no-loss'],
}, async () => {
  const fixture = await originalFixture();
  await fixture.send('passed', { key: 'k' });
  for (const lane of [0, 1]) await fixture.drain({ lane: { topic: fixture.topic, lane } });
  const copy = await keptInStep(fixture);
  const { database } = copy;
  await database.query(
    `update outbox.leaf set closed_at = now() - interval '95 days', running = '{}', messages = 1, newest_at = now() - interval '95 days',
       archived_at = now() - interval '91 days' where n = 1`,
  );
  await database.query(`insert into outbox.leaf (n, opened_at) values (2, now())`);
  // The functions of the copy name the leaf that was the current one when its schema was made.
  await copy.send('early', { key: 'k' });
  expect(await leafOf(database, copy.idOf('early'))).toBe('log_1');

  expect(await adopt(database, by)).toMatchObject({ ready: 1 });
  expect(await verifyStructure(database)).toMatchObject({ violations: 0 });
  expect(await moveLeaves(database, roundRules)).toMatchObject({ archived: 0, dropped: 0 });
  for (const lane of [0, 1]) await copy.drain({ lane: { topic: copy.topic, lane } });
  expect(copy.broker.labels).toEqual(['early']);
  await moveLeaves(database, roundRules);
  expect(await leavesOf(database)).toEqual(['log_1 log_passed', 'log_2 log']);
});

test('a physical copy kept current by logical replication is refused although none of its lanes has sent anything', async () => {
  const fixture = await originalFixture();
  await fixture.send('first', { key: 'k' });
  await fixture.database.query(
    `insert into outbox.processed (consumer_group, message_id, processed_at)
     values ('billing', 'a', '2026-01-02T03:04:05Z'), ('billing', 'b', '2026-01-01T00:00:00Z')`,
  );
  const copy = await keptInStep(fixture);
  copy.know('first', fixture.idOf('first'));

  await expect(readInstallation(copy.database)).rejects.toMatchObject({ code: 'OUTBOX_INSTALLATION_MOVED' });
  expect(await adopt(copy.database, by)).toMatchObject({
    adopted: true,
    ready: 1,
    groups: [{ group: 'billing', lastHandledAt: new Date('2026-01-02T03:04:05Z') }],
  });
  // The second time nothing is left: with the old transaction ids the lane would find the message again and again.
  for (const lane of [0, 1, 0, 1]) await copy.drain({ lane: { topic: copy.topic, lane } });
  expect(copy.broker.labels).toEqual(['first']);
});

test('a physical copy kept current by logical replication is refused although nothing is open in it', async () => {
  const fixture = await originalFixture();
  await fixture.send('passed', { key: 'k' });
  for (const lane of [0, 1]) await fixture.drain({ lane: { topic: fixture.topic, lane } });
  const copy = await keptInStep(fixture);
  await copy.database.query('delete from outbox.message');

  await expect(readInstallation(copy.database)).rejects.toMatchObject({ code: 'OUTBOX_INSTALLATION_MOVED' });
});
