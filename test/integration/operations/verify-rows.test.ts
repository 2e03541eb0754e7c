import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifyStructure } from '../../../src/store/verify/structure.ts';
import { VerifyFixture } from '../../support/fixtures/verify-fixture.ts';

let world: VerifyFixture;

beforeEach(async () => {
  world = await VerifyFixture.create();
});

afterEach(() => world.drop());

test('I1: a message in the history that is not in the log is lost', async () => {
  await world.fixture.database.query(
    `create table outbox.message_history_test partition of outbox.message_history default`,
  );
  await world.fixture.send('archived');
  await world.deliver();
  await world.fixture.database.query(
    `with gone as (delete from outbox.message returning *)
     insert into outbox.message_history select id, topic, lane, position, key, ref, payload, 'application/json', headers, 'published',
       'w', due_at, workflow_due_at, attempts, sends, last_error, maybe_published, partition, "offset", confirm_by,
       created_at, updated_at, published_at, supersedes, now() from gone`,
  );
  expect((await world.check()).ok).toBe(true);
  world.log = [];
  expect(await world.broken('I1 no loss')).toMatchObject({ violations: 1 });
});

test('I4: two effects, an effect without a processed id and a processed id without an effect are named', async () => {
  const query = 'select id, count(*) as effects from effect group by id';
  const effects = { query, group: 'shop' };
  await world.fixture.database.query('create table effect (id text)');
  for (const id of ['once', 'twice', 'none'])
    await world.fixture.database.query(`select outbox.mark_processed('shop', array[$1], null)`, [id]);
  await world.fixture.database.query(`insert into effect values ('once'), ('twice')`);
  await world.fixture.database.query(`delete from outbox.processed where message_id = 'none'`);
  expect((await world.check({ effects })).ok).toBe(true);

  await world.fixture.database.query(`insert into effect values ('twice'), ('unprocessed')`);
  await world.fixture.database.query(`select outbox.mark_processed('shop', '{none,kept}', null)`);
  await world.fixture.database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at)
     values ('shop', 'kept', 'failed', 'orders', 'orders', 0, '0', '{}', now())`,
  );
  const { first } = await world.broken('I4 effect once', { effects });
  expect(first.map(({ what, id }) => [id, what])).toEqual([
    ['none', 'It is processed and had no effect.'],
    ['twice', 'It had its effect 2 times.'],
    ['unprocessed', 'It had its effect without a processed id.'],
  ]);
  await expect(
    world.check({ effects: { query: 'delete from effect returning id, 1 as effects', group: 'shop' } }),
  ).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
});

test('I9: what contradicts the state of a waiting message is named', async () => {
  for (const [change, what] of [
    ['due_at = null', 'It waits for no time.'],
    ['attempts = 1', 'It waits, and was sent.'],
    ['position = 0', 'It has no position.'],
    [
      `xid = '4611686018427387904'`,
      'Its transaction id belongs to another cluster: the database must be adopted.',
    ],
    [`workflow_id = 'elsewhere'`, 'Its workflow belongs to another installation.'],
    ['workflow_id = null', 'It has no workflow.'],
    ['lane = 3', 'It does not lie in the lane of its key.'],
  ] as const) {
    await world.fixture.send('waiting', { key: 'k', afterMs: 3_600_000 });
    await world.fixture.database.query(`update outbox.message set ${change}`);
    expect(await world.broken('I9 legal states'), change).toMatchObject({ violations: 1, first: [{ what }] });
    await world.fixture.database.query('delete from outbox.message');
  }
});

test('I9: two messages that supersede the same one are named', async () => {
  for (const label of ['original', 'one', 'two']) await world.fixture.send(label, { id: randomUUID() });
  await world.fixture.database.query(`update outbox.message set supersedes = $1 where id <> $1`, [
    world.fixture.idOf('original'),
  ]);
  expect(await world.broken('I9 legal states')).toMatchObject({ violations: 2 });
});

test.each([
  [
    'alter table outbox.message disable trigger message_transition',
    'The trigger message_transition is disabled.',
  ],
  ['drop trigger message_insert on outbox.message', 'The trigger message_insert is missing.'],
  ['drop index outbox.message_waiting_ref', 'The index message_waiting_ref is missing.'],
  ['update outbox.lane set cursor = 1', 'The lane is behind its cursor without a snapshot.'],
  [
    `update outbox.lane set cursor = 99, snapshot = pg_current_snapshot()`,
    'The cursor of the lane is beyond every position.',
  ],
  [
    `update outbox.lane set snapshot = '4611686018427387905:4611686018427387905:'`,
    'The snapshot of the lane belongs to another cluster.',
  ],
  ['update outbox.topic set lanes = 2', 'The lane does not exist.'],
  [
    `insert into outbox.leaf (n, opened_at, closed_at) values (7, now(), now())`,
    'The leaf of the log does not exist.',
  ],
  [
    'update outbox.leaf set messages = 0, newest_at = now(), archived_at = now()',
    'The leaf of the log is a child of log, and its row says log_history.',
  ],
])('I9: after "%s" the contradiction is named', async (change, what) => {
  await world.fixture.database.query(change);
  expect(await world.broken('I9 guards, indexes and lanes')).toMatchObject({
    violations: 1,
    first: [{ what }],
  });
});

test.each([
  ['update outbox.installation set id = gen_random_uuid()'],
  [
    `update outbox.leaf set closed_at = now(); insert into outbox.leaf (n, opened_at) values (2, now());
     select outbox.create_leaf(2)`,
  ],
])('I9: after "%s" the functions that store are named until they are made again', async (change) => {
  const { database } = world.fixture;
  await database.query(change);
  const what = (name: string) =>
    `The function ${name} stores for another leaf of the log, or another installation.`;
  expect(await world.broken('I9 guards, indexes and lanes')).toMatchObject({
    violations: 2,
    first: [{ what: what('store_many') }, { what: what('store_one') }],
  });
  await database.query('select outbox.write_store()');
  expect((await world.check()).ok).toBe(true);
});

test('verify finds every trigger of the messages that is disabled, and every index of theirs that is missing', async () => {
  const { database } = world.fixture;
  const triggers = await database.query<{ name: string }>(
    `select tgname as name from pg_trigger where tgrelid = 'outbox.message'::regclass and not tgisinternal order by 1`,
  );
  const indexes = await database.query<{ name: string }>(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = 'outbox.message'::regclass order by 1`,
  );
  expect(triggers.length).toBeGreaterThan(4);
  expect(indexes.length).toBeGreaterThan(15);
  expect((await verifyStructure(database)).violations).toBe(0);

  await database.query('alter table outbox.message disable trigger user');
  for (const { name } of indexes) await database.query(`alter index outbox.${name} rename to x_${name}`);

  const found = await verifyStructure(database);
  expect(found.violations).toBe(triggers.length + indexes.length);
});
