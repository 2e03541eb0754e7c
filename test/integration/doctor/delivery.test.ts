import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { print } from '../../../src/brokers/print/print-transport.ts';
import type { Sql } from '../../../src/store/database/database.ts';
import { readUndelivered } from '../../../src/store/doctor/undelivered.ts';
import { writeRelay } from '../../../src/store/installation/relays.ts';
import { noteTwin } from '../../../src/store/installation/twin.ts';
import { acquireLane, writeHold } from '../../../src/store/lane/lease.ts';
import { examined } from '../../support/fixtures/doctor.ts';
import { type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { quietRelay } from '../../support/fixtures/quiet-figures.ts';
import { numbered } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

let fixture: LaneFixture;
const look = (topics = [numbered('orders')]) =>
  examined({ database: { url: fixture.url }, topics, transports: { scripted: print() } });

beforeEach(async () => {
  fixture = await ownLane();
});

const relayRuns = () =>
  writeRelay(fixture.database, { ...quietRelay, host: 'here', pid: 4711, id: randomUUID() });

test('lanes of a dead relay are a problem without another relay, and a warning while one takes over', async () => {
  const idle = await look();
  expect(idle.get('relays')).toMatchObject({ state: 'warning', next: 'temporal-outbox relay' });
  expect(idle.get('lane leases')).toMatchObject({ state: 'ok' });

  await acquireLane(fixture.database, fixture.lane, randomUUID());
  expect((await look()).get('lane leases')).toMatchObject({ state: 'ok' });
  await fixture.database.query(`update outbox.lane set alive_until = clock_timestamp() - interval '1 s'`);
  expect((await look()).get('lane leases')).toMatchObject({
    state: 'problem',
    message: 'orders/0 was left by a relay that died without freeing it, and none is running.',
  });

  await relayRuns();
  const relayed = await look();
  expect(relayed.get('relays')?.message).toBe('1 relay running: here (pid 4711).');
  expect(relayed.get('lane leases')).toMatchObject({ state: 'warning' });
});

test('the cause that keeps a lane from being delivered is named: a lock, a hold, a change, another database', async () => {
  await fixture.send('held');
  const owner = randomUUID();
  await acquireLane(fixture.database, fixture.lane, owner);
  await writeHold(fixture.database, fixture.lane, owner, { scope: 'topic', reason: 'it has no leader' });
  expect((await look()).get('holds')).toMatchObject({
    state: 'warning',
    message: 'orders/0 waits for the topic: it has no leader',
  });

  await fixture.database.query(
    `insert into outbox.topic_change (topic, kind, wanted, actor, begun_at)
     values ('orders', 'lanes', 3, 'ada', now() - interval '2 minutes')`,
  );
  expect((await look()).get('changes of lanes')).toMatchObject({
    state: 'warning',
    next: 'temporal-outbox lanes orders 3',
  });

  await noteTwin(fixture.database, '10.0.0.7:5432/shop');
  expect((await look()).get('one database')).toMatchObject({
    state: 'problem',
    message: expect.stringMatching(
      /^Another running database .*, 10\.0\.0\.7:5432\/shop, was seen 20[\d-]+T[\d:.]+Z:/,
    ),
  });

  const open = await fixture.begin();
  const [{ pid } = { pid: 0 }] = await open.query<{ pid: number }>('select pg_backend_pid() as pid');
  await open.query('select from outbox.lane for update');
  await until(async () => (await look()).get('lane locks')?.state === 'problem', 20_000);
  expect((await look()).get('lane locks')?.next).toBe(
    `select pg_terminate_backend(${pid}), as its own role or with pg_signal_backend`,
  );
  await open.rollback();

  const table = await fixture.begin();
  await table.query('lock table outbox.lane');
  const locked = await look();
  expect(locked.get('delivery')).toMatchObject({ state: 'problem' });
  expect(locked.get('migrations')).toMatchObject({ state: 'ok' });
  await table.rollback();
});

test('topics that differ between database and configuration are named', async () => {
  const same = await look();
  expect(same.get('topics announced')).toMatchObject({ state: 'ok' });

  expect((await look([numbered('orders'), numbered('unknown')])).get('topics announced')).toMatchObject({
    state: 'warning',
    message: expect.stringContaining('unknown'),
    next: 'temporal-outbox migrate --topics',
  });
  expect((await look([numbered('orders', { lanes: 7 })])).get('topics announced')).toMatchObject({
    state: 'warning',
    next: 'temporal-outbox lanes orders 7',
  });
  const rated = numbered('orders', { rate: { messages: 5, per: '1s' } });
  expect((await look([rated])).get('topics announced')).toMatchObject({
    state: 'warning',
    message:
      'The configuration gives orders a rate of 5 in 1000 ms of the topic, the database no rate, which counts.',
  });
  expect((await look([numbered('orders', { address: 'elsewhere' })])).get('topics announced')).toMatchObject({
    state: 'warning',
    message: expect.stringContaining('address of orders is elsewhere here'),
  });
});

test('a month of the history that nothing drops is a warning', async () => {
  expect((await look()).get('history')).toMatchObject({ state: 'ok' });
  await fixture.database.query(
    `create table outbox.message_history_2001_01 partition of outbox.message_history
       for values from ('2001-01-01') to ('2001-02-01')`,
  );
  expect((await look()).get('history')).toMatchObject({
    state: 'warning',
    message: expect.stringContaining('message_history_2001_01'),
  });
});

test('an archive that is behind is named with its lane', async () => {
  await fixture.send('old', { id: randomUUID() });
  await fixture.drain();
  await fixture.send('young', { id: randomUUID() });
  await fixture.drain();
  expect((await look()).get('archive')).toMatchObject({ state: 'ok' });
  const age = async (column: string, table: string) =>
    fixture.database.query(`update outbox.${table} set ${column} = ${column} - interval '27 hours'`);

  await age('updated_at', 'message');
  // It waited for long, and was published just now.
  expect((await look()).get('archive')).toMatchObject({ state: 'ok' });
  await age('published_at', 'batch');
  expect((await look()).get('archive')).toMatchObject({
    state: 'warning',
    message: 'The archive is 3 hours behind with orders/0: the live table grows.',
  });
});

/** Its messages have waited for so long. */
const ageMessages = (): Promise<unknown> =>
  fixture.database.query(`update outbox.message set created_at = created_at - interval '20 minutes'`);
const undelivered = async () => (await look()).get('undelivered');

test('doctor names a topic that no relay has announced while messages of it are due', {
  tags: ['misspelled-topic-warned-of'],
}, async () => {
  await relayRuns();
  await acquireLane(fixture.database, fixture.lane, randomUUID());
  await fixture.send('owned');
  await ageMessages();
  expect(await undelivered()).toMatchObject({ state: 'ok' });

  await fixture.database.query('delete from outbox.topic');
  expect(await undelivered()).toEqual({
    check: 'undelivered',
    state: 'warning',
    message:
      'No relay has announced orders, of which a message has been due for 20 min: nothing delivers it.',
    next: 'Add it to `topics`, or withdraw its messages: temporal-outbox list --topic orders',
  });
});

test('doctor names an announced topic that no running relay takes, if its messages have waited for long', async () => {
  await relayRuns();
  await fixture.send('new');
  expect(await undelivered()).toMatchObject({ state: 'ok' });

  await ageMessages();
  expect(await undelivered()).toMatchObject({
    state: 'warning',
    message: 'No relay drains orders/0, of which a message has been due for 20 min.',
    next: expect.stringContaining('`topics`'),
  });

  await fixture.database.query('update outbox.topic set paused = true');
  expect(await undelivered()).toMatchObject({ state: 'ok' });
});

test('a lane that a relay takes a moment later is not told, however long a message of it was blocked', async () => {
  await fixture.send('new');
  await ageMessages();
  const taking: Sql = {
    query: async (text, values) => {
      const rows = await fixture.database.query<never>(text, values);
      await acquireLane(fixture.database, fixture.lane, randomUUID());
      return rows;
    },
  };

  expect(await readUndelivered(taking)).toEqual([]);
});
