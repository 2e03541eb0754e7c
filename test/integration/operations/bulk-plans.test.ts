import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BulkFilter } from '../../../src/store/bulk/selection.ts';
import { stillMatching, walkOf } from '../../../src/store/bulk/selection.ts';
import { walkStart } from '../../../src/store/bulk/walk.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { fullScansOf, pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';

const published = 150_000;
const others = 15_000;
const limit = 500;

let fixture: LaneFixture;

/** A long log that its lane has passed, with waiting and failed messages. */
beforeAll(async () => {
  fixture = await laneFixture();
  const { database } = fixture;
  await fixture.send('first');
  await fixture.drain();
  for (const [state, count] of [
    ['ready', published],
    ['waiting', others],
  ] as const) {
    await database.query(
      `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at, workflow_due_at, created_at)
       select id, 'orders', 0, 'k' || g % 1000, '{}', $1::outbox.state, outbox.message_workflow_id(id), due, due, now() - interval '1 day'
       from (select g, gen_random_uuid() as id, case when $1 = 'waiting' then now() + interval '30 days' end as due
         from generate_series(1, $2::integer) g) x`,
      [state, count],
    );
  }
  await database.query(
    `update outbox.lane set cursor = (select max(position) from outbox.message), snapshot = pg_current_snapshot()`,
  );
  // Statistics without a failed message.
  await database.query('analyze outbox.message');
  const fail = `update only outbox.message set state = 'failed', last_error = 'no' where id in (
    select id from outbox.message where state = 'ready' order by position limit 3000)`;
  await database.query(fail);
}, 180_000);
afterAll(() => fixture.drop());

/** The plan of one page, run. */
async function explain(filter: BulkFilter) {
  const { text, values } = await statementOf((sql) =>
    walkOf({ filter, selectedUntil: new Date().toISOString() }).page(sql, walkStart, limit, null),
  );
  return planNodes(fixture.database, text, values);
}

test.each<readonly [string, BulkFilter]>([
  ['failed messages of a topic', { topic: 'orders', states: ['failed'] }],
  ['failed messages', { states: ['retrying', 'failed'] }],
  ['messages that can be canceled', { topic: 'orders', states: ['waiting', 'blocked', 'retrying'] }],
])('a page of %s reads only its rows', async (_, filter) => {
  const plan = await explain(filter);

  expect(fullScansOf(plan).filter((name) => name === 'message')).toEqual([]);
  // A few pages of an index and of the table for each of 500 rows, in two looks at them.
  expect(pagesOf(plan)).toBeLessThan(10_000);
});

test('a page of a search reads a bounded number of rows, and not the published messages', async () => {
  const plan = await explain({ key: 'k7', states: ['waiting', 'failed'] });

  expect(fullScansOf(plan).filter((name) => name === 'message')).toEqual([]);
  expect(
    Math.max(...plan.map((node) => (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1))),
  ).toBeLessThan(45_000);
});

test('rows are found by their ids when the filter is evaluated again', async () => {
  const ids = (await fixture.database.query<{ id: string }>('select id from outbox.message limit 500')).map(
    ({ id }) => id,
  );
  const { text, values } = await statementOf((sql) => stillMatching(sql, { states: ['failed'] }, ids));
  const plan = await planNodes(fixture.database, text, values);

  expect(fullScansOf(plan).filter((name) => name === 'message')).toEqual([]);
  expect(pagesOf(plan)).toBeLessThan(5_000);
});
