// @module-tag archive-blocks-nothing
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { MovedLeaves } from '../../../src/store/retention/leaves.ts';
import { type ArchiveFixture, archiveFixture } from '../../support/fixtures/archive-fixture.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { leafOf, leavesOf, turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';
import type { OpenTransaction } from '../../support/fixtures/open-transaction.ts';

turnNoLeaves();

let at: ArchiveFixture;
beforeEach(async () => {
  at = await archiveFixture();
});
afterEach(() => at.fixture.drop());

/** Leaves `late` behind the cursor of its lane, in a transaction that runs, among others or as the newest one of all. */
async function drainPastLate(late: 'running' | 'newest', label: string): Promise<OpenTransaction> {
  const { fixture } = at;
  const [early, open] = [await fixture.begin(), await fixture.begin()];
  await early.query('select pg_current_xact_id()');
  await fixture.send('late', { key: 'k' }, open);
  await fixture.send(label, {}, early);
  await early.commit();
  await fixture.drain();
  const [{ xid } = { xid: '' }] = await open.query<{ xid: string }>('select pg_current_xact_id() as xid');
  // A snapshot from just before it began: transactions of other databases that ran then may still run.
  if (late === 'newest')
    await fixture.database.query(
      `update outbox.lane set snapshot = format('%s:%s:%s', pg_snapshot_xmin(pg_current_snapshot()), $1::text, (select
         string_agg(r.xid::text, ',' order by r.xid) from pg_snapshot_xip(pg_current_snapshot()) r (xid)
         where r.xid < $1::text::xid8))::pg_snapshot`,
      [xid],
    );
  return open;
}

test('a leaf that has served its time is closed, passed, archived and dropped, and none of its messages is written', async () => {
  const { fixture } = at;
  const { database } = fixture;
  const id = await fixture.send('old');
  const written = async (): Promise<unknown> => {
    const rows = await database.query(
      'select ctid::text, xmin::text, xmax::text from outbox.log_1 where id = $1',
      [id],
    );
    return rows[0];
  };

  expect(await turnLeaf(database)).toEqual({ archived: 0, dropped: 0, inUse: 0 });
  expect(await leavesOf(database)).toEqual(['log_1 log', 'log_2 log']);

  await fixture.drain();
  await turnLeaf(database);
  expect(await leavesOf(database)).toEqual(['log_1 log_passed', 'log_2 log']);
  expect(await at.whereabouts('old')).toEqual(['live published']);

  await at.age('25 hours');
  const before = await written();
  expect(await at.archive()).toMatchObject({ archived: 1 });
  expect(await leavesOf(database)).toEqual(['log_1 log_history', 'log_2 log']);
  expect(await at.whereabouts('old')).toEqual(['archived published']);
  expect(await written()).toEqual(before);

  await at.age('89 days');
  expect(await at.archive()).toMatchObject({ dropped: 0 });
  await at.age('1 day');
  expect(await at.archive()).toMatchObject({ dropped: 1 });
  expect(await leavesOf(database)).toEqual(['log_2 log']);
  expect(await at.whereabouts('old')).toEqual(['']);
});

test('of a leaf that is too large to be counted the number of messages is about right, though nothing has analyzed it', async () => {
  const { fixture } = at;
  await fixture.send('first');
  await fixture.drain();
  // 64 MB and a little more.
  const messages = 38_000;
  await fixture.database.query(
    `insert into outbox.log_1 (id, topic, lane, payload)
     select outbox.uuid_v7(), 'orders', 0, repeat('x', 1800) from generate_series(1, $1)`,
    [messages],
  );
  await fixture.database.query(
    'update outbox.lane set cursor = (select max(position) from outbox.log), snapshot = pg_current_snapshot()',
  );

  await turnLeaf(fixture.database);
  await turnLeaf(fixture.database);

  const [leaf] = await fixture.database.query<{ messages: number }>(
    'select messages::float8 as messages from outbox.leaf where n = 1',
  );
  expect(Math.abs((leaf?.messages ?? 0) / messages - 1)).toBeLessThan(0.02);
});

test('the order of a key holds across leaves, and so do claims of several', async () => {
  const { fixture } = at;
  for (let n = 1; n <= 5; n += 1) {
    await fixture.send(`k${n}`, { key: 'k' });
    await turnLeaf(fixture.database);
  }
  expect(await leavesOf(fixture.database)).toHaveLength(6);

  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['k1', 'k2', 'k3', 'k4', 'k5']);
});

test('a transaction from before the next leaf was opened goes on in the old one, which waits for it', async () => {
  const { fixture } = at;
  const { database } = fixture;
  const open = await fixture.begin();
  await fixture.send('first', { key: 'k' }, open);
  await fixture.send('other');
  await turnLeaf(database);
  await fixture.send('new');
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['other', 'new']);
  const late = await fixture.send('late', { key: 'k' }, open);
  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log');
  await open.commit();

  // Whether it has noticed the new functions is not promised.
  expect(['log_1', 'log_2']).toContain(await leafOf(database, late));
  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log');
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['other', 'new', 'first', 'late']);
  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log_passed');
});

test('a transaction that has read the functions and not sent yet holds the old leaf, too', async () => {
  const { fixture } = at;
  const { database } = fixture;
  await fixture.send('other');
  const open = await fixture.begin();
  await open.query(`select outbox.store_one('not a name', '1')`);
  await turnLeaf(database);
  await fixture.drain();
  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log');

  await open.commit();

  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log_passed');
});

test('a leaf stays while one of its lanes is behind, and changes of lanes move messages within it', async () => {
  const { fixture } = at;
  const { database } = fixture;
  await fixture.send('paused');
  await database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id) values (gen_random_uuid(), 'orders', 7, '1', 'waiting', 'w')`,
  );
  await turnLeaf(database);
  await turnLeaf(database);
  expect(await leavesOf(database)).toEqual(['log_1 log', 'log_2 log']);
  await database.query(`insert into outbox.lane (topic, n) values ('orders', 1)`);
  await database.query(`update outbox.log set lane = 1, xid = pg_current_xact_id()`);
  await fixture.drain();
  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log');
  await fixture.drain({ lane: { topic: 'orders', lane: 1 } });
  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log_passed');
});

test.each(['running', 'newest'] as const)(
  'a lane that stays behind for nine leaves does not keep the first one: its messages move beside the log, in order (%s)',
  async (late) => {
    const { fixture } = at;
    const { database } = fixture;
    const open = await drainPastLate(late, 'passed');
    await fixture.send('seen', { key: 'k' });
    await open.commit();
    for (let n = 0; n < 8; n += 1) {
      await turnLeaf(database);
      expect((await leavesOf(database))[0]).toBe('log_1 log');
      await fixture.send(`leaf ${n}`, { key: 'k' });
    }

    await turnLeaf(database);
    expect((await leavesOf(database)).slice(0, 2)).toEqual(['log_1 log_passed', 'log_2 log']);
    for (const label of ['late', 'seen']) expect(await leafOf(database, fixture.idOf(label))).toBe('message');
    expect(await leafOf(database, fixture.idOf('passed')), 'nothing of it is written').toBe('log_1');
    expect(await fixture.states('late', 'seen', 'passed')).toEqual(['ready', 'ready', 'published']);
    await fixture.drain();
    const leaves = [...Array(8).keys()].map((n) => `leaf ${n}`);
    expect(fixture.broker.labels).toEqual(['passed', 'late', 'seen', ...leaves]);
  },
);

test.each(['running', 'newest'] as const)(
  'a leaf stays for a message that was committed behind the cursor of its lane (%s)',
  async (late) => {
    const { fixture } = at;
    const { database } = fixture;
    const open = await drainPastLate(late, 'other');
    await turnLeaf(database);
    await open.commit();
    await turnLeaf(database);
    expect((await leavesOf(database))[0]).toBe('log_1 log');

    await fixture.drain();
    await turnLeaf(database);
    expect((await leavesOf(database))[0]).toBe('log_1 log_passed');
    expect(fixture.broker.labels).toEqual(['other', 'late']);
  },
);

test('a leaf stays while a lane has seen messages there that it has not sent yet', async () => {
  const { fixture } = at;
  const { database } = fixture;
  await fixture.send('sent');
  await fixture.send('seen');
  await database.query('update outbox.lane set cursor = $1, snapshot = pg_current_snapshot()', [
    (await fixture.row('sent')).position,
  ]);
  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log');
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(['seen']);
  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log_passed');
});

test('a leaf whose step fails keeps no other one, and the failure is told', async () => {
  const { fixture } = at;
  const { database } = fixture;
  await fixture.send('first');
  await turnLeaf(database);
  await fixture.send('second');
  await turnLeaf(database);
  await fixture.drain();
  await database.query('drop table outbox.log_1');
  await expect(turnLeaf(database)).rejects.toThrow('outbox.log_1');
  expect(await leavesOf(database)).toEqual(['log_2 log_passed', 'log_3 log']);
});

test('a reader of all messages puts a step off, and holds up neither senders nor claims for long', async () => {
  const { fixture } = at;
  const { database } = fixture;
  await fixture.send('old');
  await fixture.drain();
  const reader = await fixture.begin();
  await reader.query('select count(*) from outbox.message_all');
  let longestMs = 0;
  const awakeMs = awake();
  /** Sends and drains while a leaf turns. */
  const turnUnderLoad = async (): Promise<MovedLeaves> => {
    const over = new AbortController();
    const turning = turnLeaf(database).finally(() => over.abort());
    while (!over.signal.aborted) {
      const startedMs = awakeMs();
      await fixture.send('meanwhile');
      await fixture.drain();
      longestMs = Math.max(longestMs, awakeMs() - startedMs);
    }
    return turning;
  };

  // The reader is older than the next leaf: the old one cannot be sealed.
  expect(await turnUnderLoad()).toMatchObject({ inUse: 0 });
  await reader.commit();
  const later = await fixture.begin();
  await later.query('select count(*) from outbox.message_all');
  expect(await turnUnderLoad()).toMatchObject({ inUse: 1 });
  // 200 ms a try, and what the machine takes. Who has no such limit waits for five seconds.
  expect(longestMs).toBeLessThan(4_500);
  await later.commit();
  await turnLeaf(database);
  expect((await leavesOf(database))[0]).toBe('log_1 log_passed');
});

test('records of batches stay as long as an archived leaf has their messages', async () => {
  const { fixture } = at;
  await fixture.send('old');
  await fixture.drain();
  await turnLeaf(fixture.database);
  await at.age('30 days');
  expect(await at.archive()).toMatchObject({ archived: 1, deleted: { batches: 0 } });
  const published = async (): Promise<unknown> => {
    const [row] = await fixture.database.query<{ at: Date }>(
      'select published_at as at from outbox.message_all where archived_at is not null',
    );
    return row?.at;
  };
  expect(await published()).toBeInstanceOf(Date);
  await at.archive();
  expect(await published()).toBeInstanceOf(Date);

  await at.age('91 days');
  expect(await at.archive()).toMatchObject({ dropped: 1 });
  await at.archive();
  expect(await fixture.database.query('select from outbox.batch')).toEqual([]);
});
