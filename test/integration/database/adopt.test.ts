// @module-tag apart
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Adoption, adopt } from '../../../src/operations/delivery/adopt.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { readInstallation } from '../../../src/store/installation/installation.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { runCli } from '../../support/fixtures/cli.ts';
import { dumpOutbox } from '../../support/fixtures/dump.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { startKeyWriters } from '../../support/fixtures/key-writers.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { anotherCluster, burn, burnAhead, movedFixture } from '../../support/fixtures/moved-fixture.ts';
import { startTestRelay } from '../../support/fixtures/test-relay.ts';
import { until } from '../../support/fixtures/until.ts';

const elsewhere = anotherCluster();
const { ends } = elsewhere;

const by = { actor: 'test' };

async function originalFixture(): Promise<LaneFixture> {
  const fixture = await laneFixture({ lanes: 2 });
  ends.push(() => fixture.drop());
  return fixture;
}

/** Restores a dump of the fixture on the other cluster. */
function moved(fixture: LaneFixture, dump = dumpOutbox(fixture.url)): Promise<LaneFixture> {
  return movedFixture(fixture, elsewhere.url, ends, dump);
}

interface Snapshot {
  readonly published: readonly string[];
  readonly ready: readonly string[];
}

async function snapshotOf(database: Database): Promise<Snapshot> {
  const rows = await database.query<{ id: string; state: string }>(
    'select id, state::text from outbox.message_view order by id',
  );
  const idsOf = (state: string) => rows.filter((row) => row.state === state).map(({ id }) => id);
  return { published: idsOf('published'), ready: idsOf('ready') };
}

test.each(['behind', 'ahead of'])(
  'a database dumped under load delivers the rest once, in a cluster that is %s the old one',
  { tags: ['no-loss'] },
  async (where) => {
    const fixture = await originalFixture();
    // While the dump is made, batches are stored by the broker and not settled.
    const dumped = gate();
    let dumping = false;
    let inHand = 0;
    fixture.broker.after = () => {
      inHand += Number(dumping);
      return dumping ? dumped.opened : delay(15);
    };
    const writers = startKeyWriters({
      url: fixture.url,
      topic: fixture.topic,
      seed: 42,
      writers: 4,
      keysEach: 3,
      openMs: 200,
    });
    const relay = await startTestRelay(fixture);
    // The first batches may hold all of them: some are to be settled.
    await until(async () => (await snapshotOf(fixture.database)).published.length > 60);
    if (where === 'behind') await burn(fixture.database, 5_000);
    dumping = true;
    await until(() => inHand > 0);
    const dumpedAt = Date.now();
    const dump = await dumpOutbox(fixture.url);
    const bigBatch = Math.max(...fixture.broker.batches.map(({ length }) => length));
    dumped.open();
    dumping = false;
    await writers.stop();
    await relay.stop();

    const copy = await moved(fixture, Promise.resolve(dump));
    if (where === 'ahead of') await burnAhead(copy.database, fixture.database, 20_000);
    const old = await snapshotOf(copy.database);
    expect(old.published.length).toBeGreaterThan(0);
    expect(old.ready.length).toBeGreaterThan(0);
    await expect(readInstallation(copy.database)).rejects.toMatchObject({
      code: 'OUTBOX_INSTALLATION_MOVED',
    });

    expect(await adopt(copy.database, by)).toMatchObject({
      adopted: true,
      installation: await readInstallation(fixture.database),
      settled: old.published.length,
      ready: old.ready.length,
    });
    expect(await snapshotOf(copy.database)).toEqual(old);
    const next = await startTestRelay(copy);
    ends.push(() => next.stop());
    await until(() => copy.broker.log.length >= old.ready.length);
    await copy.send('later', { key: 'w0k0' });
    await until(() => copy.broker.labels.includes('later'));

    const sentAgain = copy.broker.log.map(({ id }) => id);
    expect(sentAgain.toSorted()).toEqual([...old.ready, copy.idOf('later')].toSorted());
    const before = new Set(
      fixture.broker.log.filter(({ storedAt }) => storedAt < dumpedAt).map(({ id }) => id),
    );
    const everywhere = new Set(fixture.broker.log.map(({ id }) => id));
    expect(old.published.filter((id) => !everywhere.has(id))).toEqual([]);
    // Two lanes, each with one batch in hand at most when the dump was made.
    expect(sentAgain.filter((id) => before.has(id)).length).toBeLessThanOrEqual(2 * bigBatch);
    for (const [key, labels] of writers.committed) {
      const mine = copy.broker.labels.filter((label) => label.startsWith(`${key}:`));
      expect(mine).toEqual(labels.filter((label) => mine.includes(label)));
    }
  },
);

test('after adoption a waiting message gets its workflow again, and retrying and blocked messages continue', async () => {
  const fixture = await originalFixture();
  const { broker, topic, database } = fixture;
  broker.judge = () => 'reject';
  await fixture.send('retrying', { key: 'k' });
  for (const lane of [0, 1]) await fixture.drain({ lane: { topic, lane } });
  await fixture.send('blocked', { key: 'k' });
  for (const lane of [0, 1]) await fixture.drain({ lane: { topic, lane } });
  await fixture.send('waiting', { key: 'k', afterMs: 3_600_000 });
  await database.query('update outbox.message set workflow_due_at = due_at');
  await burn(database, 1_000);
  const copy = await moved(fixture);
  for (const label of ['retrying', 'blocked', 'waiting']) copy.know(label, fixture.idOf(label));

  expect(await adopt(copy.database, by)).toMatchObject({ settled: 0, ready: 0, waiting: 2 });
  expect(await copy.states('retrying', 'blocked', 'waiting')).toEqual(['retrying', 'blocked', 'waiting']);
  const relay = await startTestRelay(copy);
  ends.push(() => relay.stop());
  await until(() => relay.workflows.messageStarts.length >= 2);
  await copy.database.query(`update outbox.message set due_at = outbox.clock() where state <> 'blocked'`);
  await until(() => copy.broker.labels.length === 3);
  expect(copy.broker.labels.filter((label) => label !== 'waiting')).toEqual(['retrying', 'blocked']);
});

test('messages that a relay had in hand during the dump count as possibly published', async () => {
  const fixture = await originalFixture();
  await fixture.send('in hand', { key: 'k' });
  await fixture.database.query(`update outbox.lane set owner = gen_random_uuid(), alive_until = now()`);
  const copy = await moved(fixture);
  copy.know('in hand', fixture.idOf('in hand'));
  await adopt(copy.database, by);
  expect(await copy.row('in hand')).toMatchObject({ state: 'ready', maybePublished: true });
});

test('after native logical replication, which copies no sequences, a new message is ordered behind the ready ones and settles', {
  tags: ['order-per-key'],
}, async () => {
  const fixture = await originalFixture();
  await fixture.send('K0', { key: 'k' });
  await fixture.drain({ lane: { topic: fixture.topic, lane: 1 } });
  await fixture.drain();
  fixture.broker.judge = () => 'reject';
  await fixture.send('rejected', { key: 'r' });
  for (const lane of [0, 1]) await fixture.drain({ lane: { topic: fixture.topic, lane } });
  await fixture.send('K1', { key: 'k' });
  await fixture.database.query(
    `insert into outbox.audit (actor, action, result) values ('test', 'a', 'done'), ('test', 'b', 'done')`,
  );
  const copy = await moved(fixture);
  const sequences = await copy.database.query<{ name: string; first: string }>(
    `select oid::regclass::text as name, setval(oid, 1, false) as first from pg_class
     where relkind = 'S' and relnamespace = 'outbox'::regnamespace`,
  );
  expect(sequences.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['outbox.message_position', 'outbox.attempt_id_seq', 'outbox.audit_id_seq']),
  );
  copy.know('K1', fixture.idOf('K1'));

  expect(await adopt(copy.database, by)).toMatchObject({ adopted: true, ready: 1, settled: 1 });
  await copy.send('K2', { key: 'k' });
  await copy.send('new', { key: 'n' });
  copy.broker.judge = ({ payload }) => (payload === '"new"' ? 'reject' : 'store');
  for (const lane of [0, 1]) await copy.drain({ lane: { topic: copy.topic, lane } });
  expect(copy.broker.labels).toEqual(['K1', 'K2']);
  expect(await copy.states('new', 'K1', 'K2')).toEqual(['retrying', 'published', 'published']);
});

test('a copy gets its own installation id and workflow ids while the original runs', async () => {
  const fixture = await originalFixture();
  await fixture.send('waiting', { key: 'k', afterMs: 3_600_000 });
  await fixture.send('ready', { key: 'k' });
  const original = await readInstallation(fixture.database);
  const copy = await moved(fixture);

  const { code, stdout } = await runCli(['migrate', '--adopt', '--new-installation', '--json'], {
    DATABASE_URL: copy.url,
  });
  expect(code).toBe(0);
  const { adoption } = JSON.parse(stdout) as { readonly adoption: Adoption };
  expect(adoption).toMatchObject({ adopted: true, ready: 1, waiting: 1 });
  const { installation } = adoption;
  expect(installation).not.toBe(original);
  expect(await readInstallation(copy.database)).toBe(installation);
  const rows = await copy.database.query<{ workflow: string }>(
    `select workflow_id as workflow from outbox.message_view order by position`,
  );
  expect(rows.map(({ workflow }) => workflow)).toEqual([
    `${installation}/message/${fixture.idOf('waiting')}`,
    expect.stringMatching(`^${installation}/lane/orders/[01]$`),
  ]);
});

test('a copy with a new installation sends with workflow ids of its own', async () => {
  const fixture = await originalFixture();
  const copy = await moved(fixture);
  const { installation } = await adopt(copy.database, { newInstallation: true, actor: 'test' });
  const sent = await storeMessages(copy.database, 'orders', [{ payload: '1' }]);
  expect(sent[0]?.workflowId).toMatch(new RegExp(`^${installation}/lane/orders/`));
  const batch = await storeMessages(copy.database, 'orders', [{ payload: '1' }, { payload: '2' }]);
  expect(batch[1]?.workflowId).toMatch(new RegExp(`^${installation}/lane/orders/`));
});

test('adoption reads a few batches per passed message, whatever their number', async () => {
  const fixture = await laneFixture();
  ends.push(() => fixture.drop());
  const { database } = fixture;
  const count = 20_000;
  await database.query(
    `insert into outbox.message (id, topic, lane, position, key, payload, state, workflow_id)
     select gen_random_uuid(), 'orders', 0, n, 'k', '1', 'ready', 'w' from generate_series(1, $1::integer) n`,
    [count],
  );
  await database.query(
    `insert into outbox.batch (id, topic, lane, first_position, last_position, count, published_at, partitions)
     select gen_random_uuid(), 'orders', 0, n, n, 1, timestamptz '2020-01-01' + n * interval '1 s', '{}' from generate_series(1, $1::integer) n`,
    [count],
  );
  await database.query('update outbox.lane set cursor = $1, snapshot = pg_current_snapshot()', [count]);
  await database.query(`update outbox.installation set system_identifier = 'another'`);
  const entriesRead = async (): Promise<number> => {
    const [row] = await database.query<{ read: number }>(
      `select (pg_stat_get_tuples_returned('outbox.batch_lane'::regclass) + pg_stat_get_tuples_returned('outbox.batch'::regclass))::float8 as read`,
    );
    return row?.read ?? 0;
  };

  expect(await adopt(database, by)).toMatchObject({ settled: count });
  // A server process reports its counts when idle.
  await until(async () => (await entriesRead()) >= count, 30_000);
  expect(await entriesRead()).toBeLessThan(10 * count);
  const dated = await database.query<{ right: boolean; count: number }>(
    `select published_at = timestamptz '2020-01-01' + position * interval '1 s' as right, count(*)::integer from outbox.message group by 1`,
  );
  expect(dated).toEqual([{ right: true, count }]);
});

test('adoption writes nothing where nothing has moved, and refuses another id while a relay delivers', async () => {
  const fixture = await originalFixture();
  const installation = await readInstallation(fixture.database);
  expect(await adopt(fixture.database, by)).toEqual({
    adopted: false,
    installation,
    settled: 0,
    ready: 0,
    waiting: 0,
    groups: [],
  });
  expect(await fixture.database.query(`select 1 from outbox.audit where action = 'adopt'`)).toEqual([]);
  await fixture.database.query(
    `update outbox.lane set owner = gen_random_uuid(), alive_until = clock_timestamp() + interval '10 seconds', incarnation = outbox.incarnation() where n = 0`,
  );
  await expect(adopt(fixture.database, { ...by, newInstallation: true })).rejects.toMatchObject({
    code: 'OUTBOX_STILL_DELIVERING',
  });
  expect(await readInstallation(fixture.database)).toBe(installation);
});
