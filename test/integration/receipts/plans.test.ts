import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { DueEdge } from '../../../src/store/lane/due-edge.ts';
import { confirmMessages, prolongParked } from '../../../src/store/message/confirm.ts';
import {
  giveUp,
  lockOverdue,
  overdueTopics,
  postpone,
  resend,
} from '../../../src/store/message/confirm-overdue.ts';
import { expireBlocked } from '../../../src/store/message/expire.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import {
  fullScansOf,
  indexesOf,
  type PlanNode,
  pagesOf,
  planNodes,
} from '../../support/fixtures/query-plan.ts';

// Statistics from before anything waited for a receipt, and a key that a quarter of the messages share.
const passedRows = 100_000;
const unconfirmedRows = 40_000;
/** Pages of a statement that finds little: a few per index. */
const fewPages = 60;
/** Of one for 500 rows that are found by their ids, each with an update and its indexes. */
const pagesOfABatch = 500 * 60;

const edges = new Map(['orders', 'payments'].map((topic) => [topic, new DueEdge()]));

let fixture: LaneFixture;
let ids: readonly string[];
beforeAll(async () => {
  fixture = await laneFixture({ confirm: { group: 'shop', receiptTimeout: '1h' } });
  await insert(passedRows);
  await fixture.database.query('analyze outbox.message');
  await insert(unconfirmedRows);
  await fixture.database.query(
    `update outbox.message set state = 'published', partition = 0, "offset" = position, sends = 1,
       confirm_by = outbox.clock() + interval '1 hour' where position > $1`,
    [passedRows],
  );
  ids = (
    await fixture.database.query<{ id: string }>(
      `select id from outbox.message where state = 'published' order by position desc limit 500`,
    )
  ).map(({ id }) => id);
}, 120_000);
afterAll(() => fixture.drop());

async function insert(count: number): Promise<void> {
  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id)
     select gen_random_uuid(), 'orders', 0, case when g % 4 = 0 then 'hot' else 'k' || g % 1000 end, '{}', 'ready', 'w'
     from generate_series(1, $1::integer) g`,
    [count],
  );
}

/** The plan of a statement as it is, really run and rolled back. */
async function plan(work: (sql: Sql) => Promise<unknown>): Promise<readonly PlanNode[]> {
  let nodes: readonly PlanNode[] = [];
  const undo = new Error('undone');
  await fixture.database
    .transaction(async (sql) => {
      await work({
        query: async (text, values = []) => {
          nodes = await planNodes(sql, text, values);
          return [];
        },
      });
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return nodes;
}

test.each([
  ['the question for overdue topics', (sql: Sql) => overdueTopics(sql, edges)],
  [
    'the search for overdue messages',
    (sql: Sql) => lockOverdue(sql, { topic: 'orders', since: '-infinity' }, undefined, 500),
  ],
])('%s reads almost nothing while many messages wait for receipts that are not overdue', async (_, work) => {
  const nodes = await plan(work);

  expect(indexesOf(nodes)).toContain('message_overdue');
  expect(fullScansOf(nodes)).not.toContain('message');
  expect(pagesOf(nodes)).toBeLessThan(fewPages);
});

test.each([
  ['a receipt', (sql: Sql) => confirmMessages(sql, 'shop', ids)],
  [
    'a receipt of other messages',
    (sql: Sql) =>
      confirmMessages(
        sql,
        'shop',
        ids.map(() => randomUUID()),
      ),
  ],
  ['a parked receipt', (sql: Sql) => prolongParked(sql, 'shop', ids)],
  ['a resend of messages behind tens of thousands of their key', (sql: Sql) => resend(sql, ids, [])],
  ['a postponement', (sql: Sql) => postpone(sql, ids)],
  ['giving up', (sql: Sql) => giveUp(sql, ids, 'shop')],
])('%s of 500 finds each row by its key, however stale the statistics', async (_, work) => {
  const nodes = await plan(work);

  expect(fullScansOf(nodes)).not.toContain('message');
  expect(pagesOf(nodes)).toBeLessThan(pagesOfABatch);
  const wasted = nodes.reduce(
    (sum, node) =>
      sum +
      ((node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0)) *
        (node['Actual Loops'] ?? 1),
    0,
  );
  expect(wasted).toBeLessThan(500 * 600);
});

test('the search for expired messages reads no blocked ones that never expire', async () => {
  await insert(20_000);
  await fixture.database.query(`update only outbox.message set state = 'blocked' where position > $1`, [
    passedRows + unconfirmedRows,
  ]);
  await fixture.database.query('analyze outbox.message');

  const nodes = await plan((sql) => expireBlocked(sql, 500));

  expect(indexesOf(nodes)).toContain('message_expiring');
  expect(fullScansOf(nodes)).not.toContain('message');
  expect(pagesOf(nodes)).toBeLessThan(fewPages);
});
