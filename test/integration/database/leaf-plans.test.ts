import { afterEach, beforeEach, expect, test } from 'vitest';
import { walkOf } from '../../../src/store/bulk/selection.ts';
import { walkStart } from '../../../src/store/bulk/walk.ts';
import type { Sql } from '../../../src/store/database/database.ts';
import { readStatus } from '../../../src/store/lane/status.ts';
import { listMessages } from '../../../src/store/message/list.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { leavesOf, passFirstLeaf, turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { fullScansOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';
import { until } from '../../support/fixtures/until.ts';

turnNoLeaves();

let fixture: LaneFixture;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(() => fixture.drop());

test('status, lists and selections scan no passed leaf', async () => {
  const { database } = fixture;
  for (let n = 0; n < 10; n += 1)
    await storeMessages(
      database,
      fixture.topic,
      Array.from({ length: 2_000 }, () => ({ payload: '"passed"' })),
    );
  await fixture.drain();
  await passFirstLeaf(database);
  await database.query('analyze outbox.log_1');

  const filter = { states: ['failed' as const] };
  const selection = { filter, selectedUntil: new Date().toISOString() };
  for (const work of [
    (sql: Sql) => readStatus(sql),
    (sql: Sql) => listMessages(sql, {}, 10, null),
    (sql: Sql) => listMessages(sql, { topic: fixture.topic, states: ['published' as const] }, 10, null),
    (sql: Sql) => walkOf(selection).page(sql, walkStart, 10, null),
  ]) {
    const { text, values } = await statementOf(work);
    const run = (await planNodes(database, text, values)).filter((node) => (node['Actual Loops'] ?? 0) > 0);
    expect([String(work), ...fullScansOf(run)]).not.toContain('log_1');
  }
});

test('a status scans no table of messages beside the log, whose messages are in other states than it counts', {
  tags: ['history-slows-nothing'],
}, async () => {
  const { database } = fixture;
  await database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id, due_at)
     select gen_random_uuid(), 'orders', 0, '{}', 'waiting', '', now() + interval '1 day' from generate_series(1, 20000);
     update only outbox.message set state = 'canceled';
     insert into outbox.lane (topic, n) values ('none', 0), ('other', 0), ('third', 0);
     analyze outbox.message`,
  );
  const { text, values } = await statementOf((sql) => readStatus(sql, 10_000));
  const run = (await planNodes(database, text, values)).filter((node) => (node['Actual Loops'] ?? 0) > 0);
  expect(fullScansOf(run)).not.toContain('message');
});

test('behind a backlog a status reads no more messages than it counts', async () => {
  const { database, topic } = fixture;
  const store = (count: number) =>
    storeMessages(
      database,
      topic,
      Array.from({ length: count }, () => ({ payload: '1' })),
    );
  await store(10);
  await fixture.drain();
  for (let n = 0; n < 20; n += 1) await store(1_000);
  await database.query('analyze outbox.log_1');
  const { text, values } = await statementOf((sql) => readStatus(sql, 500));
  const read = (await planNodes(database, text, values)).map(
    (node) =>
      ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1),
  );
  expect(Math.max(...read)).toBeLessThan(5_000);
});

test('to find out that a leaf is passed reads no message of it, although a transaction has been open since before the first', {
  tags: ['archive-blocks-nothing'],
}, async () => {
  const { database } = fixture;
  const open = await fixture.begin();
  await open.query('select pg_current_xact_id()');
  await storeMessages(
    database,
    fixture.topic,
    Array.from({ length: 2_000 }, () => ({ payload: '1' })),
  );
  await database.query(
    `update outbox.lane set cursor = (select max(position) from outbox.message), snapshot = pg_current_snapshot()`,
  );
  const read = await database.transaction(async (sql) => {
    expect(await sql.query(`select passed from outbox.lanes_of_leaf('outbox.log_1')`)).toEqual([
      { passed: true },
    ]);
    return sql.query(
      `select pg_stat_get_xact_tuples_returned('outbox.log_1_topic_lane_xid_idx'::regclass)::integer as entries`,
    );
  });
  expect(read).toEqual([{ entries: 0 }]);
  await open.rollback();
});

test('a query that is planned while the first leaf moves looks for it in both tables', async () => {
  // PostgreSQL expects no children of a table that never had one, and decides that before it looks for those of the others.
  const rows = await fixture.database.query(
    `select relname, relhassubclass as expects from pg_class
     where oid in ('outbox.log_passed'::regclass, 'outbox.log_history'::regclass) order by 1`,
  );
  expect(rows).toEqual([
    { relname: 'log_history', expects: true },
    { relname: 'log_passed', expects: true },
  ]);
});

test.each(['message', 'message_view', 'message_all'])(
  'a message is found in outbox.%s although its leaf is passed while the query is planned',
  async (relation) => {
    const { database } = fixture;
    await fixture.send('first');
    await fixture.drain();
    await turnLeaf(database);
    const id = await fixture.send('second');
    await turnLeaf(database);
    await fixture.drain();
    expect(await leavesOf(database)).toEqual(['log_1 log_passed', 'log_2 log', 'log_3 log']);

    // Planning waits where it comes to the leaf that is already passed.
    const keeper = await fixture.begin();
    await keeper.query('lock table outbox.log_1 in access exclusive mode');
    const found = database.query(`select from outbox.${relation} where id = $1`, [id]);
    await until(async () => {
      const waiting = await database.query(
        `select from pg_locks where relation = 'outbox.log_1'::regclass and not granted`,
      );
      return waiting.length > 0;
    });
    await turnLeaf(database);
    await keeper.rollback();

    expect(await found).toHaveLength(1);
  },
);
