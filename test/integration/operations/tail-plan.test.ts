import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookForTail, type TailPlace } from '../../../src/store/message/tail.ts';
import { storeMessages } from '../../../src/store/message/write.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { leavesOf, passFirstLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { fullScansOf, pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';

turnNoLeaves();

const passed = 100_000;

let fixture: LaneFixture;

/** A long leaf of the log that its lane has passed, and as many messages beside it, failed and waiting. */
beforeAll(async () => {
  fixture = await laneFixture();
  const { database } = fixture;
  await fixture.send('first');
  await fixture.drain();
  for (let n = 0; n < passed; n += 10_000)
    await storeMessages(
      database,
      'orders',
      Array.from({ length: 10_000 }, () => ({ payload: '1', key: 'K' })),
    );
  await database.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at, workflow_due_at, created_at, updated_at)
     select id, 'orders', 0, 'k' || g % 1000, '{}', 'waiting', outbox.message_workflow_id(id), now() + interval '30 days',
       now() + interval '30 days', now() - interval '1 day', now() - interval '1 day'
     from (select g, gen_random_uuid() as id from generate_series(1, $1::integer) g) x`,
    [passed],
  );
  await database.query(
    `update only outbox.message set state = 'canceled' where id in (
       select id from only outbox.message where state = 'waiting' limit $1)`,
    [passed / 2],
  );
  await database.query(
    `update outbox.lane set cursor = (select max(position) from outbox.message), snapshot = pg_current_snapshot()`,
  );
  await passFirstLeaf(database);
}, 180_000);
afterAll(() => fixture.drop());

/** The plan of a look after `place`, run. */
async function explain(place: TailPlace | undefined, followed: readonly string[]) {
  const { text, values } = await statementOf((sql) => lookForTail(sql, { topic: 'orders' }, place, followed));
  return planNodes(fixture.database, text, values);
}

test.each(['without statistics', 'with statistics'])(
  'a look of a tail reads only what is new, %s',
  { tags: ['tail-omits-nothing-silently'] },
  async (kind) => {
    const { database } = fixture;
    expect(await leavesOf(database)).toEqual(['log_1 log_passed', 'log_2 log']);
    if (kind === 'with statistics') await database.query('analyze outbox.message');
    const open = await fixture.begin();
    await open.query('select pg_current_xact_id()');
    const begun = await lookForTail(database, {}, undefined, []);
    await open.rollback();
    const ids = (
      await storeMessages(
        database,
        'orders',
        Array.from({ length: 500 }, () => ({ payload: '1' })),
      )
    ).map(({ id }) => id ?? '');
    const found = await lookForTail(database, {}, begun, ids);
    expect(found.rows).toHaveLength(500);

    const [first, next] = [await explain(undefined, []), await explain(begun, ids)];
    // The current leaf of the log is small.
    expect(fullScansOf([...first, ...next]).filter((table) => table !== 'log_2')).toEqual([]);
    expect(pagesOf(first)).toBeLessThan(100);
    // Each of 500 rows is found in two ways, over indexes.
    expect(pagesOf(next)).toBeLessThan(500 * 2 * 10);
  },
);
