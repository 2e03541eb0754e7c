import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { markTold } from '../../../src/store/lane/starts.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { functionPlanNodes, type PlanNode, planNodes } from '../../support/fixtures/query-plan.ts';
import { waitingMessages } from '../../support/fixtures/waiting-messages.ts';

// Statistics that were taken before the messages came that wait: the planner believes that there are none.
const passed = 20_000;
const waiting = 3_000;

let fixture: LaneFixture;
beforeAll(async () => {
  fixture = await laneFixture();
  await insert('ready', passed);
  await fixture.database.query('analyze outbox.message');
  await insert('waiting', waiting);
});
afterAll(() => fixture.drop());

async function insert(state: 'ready' | 'waiting', count: number): Promise<void> {
  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id, due_at)
     select gen_random_uuid(), 'orders', 0, '{}', $1::outbox.state, 'w', case when $1 = 'waiting' then now() - interval '1 s' end
     from generate_series(1, $2::integer)`,
    [state, count],
  );
}

const wastedBy = (nodes: readonly PlanNode[]): number =>
  nodes.reduce(
    (rows, node) => rows + (node['Rows Removed by Join Filter'] ?? 0) + (node['Rows Removed by Filter'] ?? 0),
    0,
  );

/** Rows that the statements read but did not need. */
async function wasted(work: (sql: Sql) => Promise<unknown>): Promise<number> {
  let rows = 0;
  const sql: Sql = {
    query: async (text, values = []) => {
      rows += wastedBy(await planNodes(fixture.database, text, values));
      return [];
    },
  };
  await work(sql);
  return rows;
}

async function someWaiting(): Promise<{ id: string; dueAt: string }> {
  const [row] = await fixture.database.query<{ id: string; dueAt: string }>(
    `select id, due_at::text as "dueAt" from outbox.message where state = 'waiting' limit 1`,
  );
  if (row === undefined) throw new Error('Nothing waits.');
  return row;
}

test('a release reads its own row, not all waiting ones', async () => {
  const { id } = await someWaiting();
  expect(wastedBy(await functionPlanNodes(fixture.database, 'release_due', [`{${id}}`]))).toBeLessThan(10);
});

test('marks of started workflows are written by id, not by a scan of all waiting messages', async () => {
  const told = await someWaiting();
  expect(await wasted((sql) => markTold(sql, [told]))).toBeLessThan(10);
});

test('a sweep reads the messages that it releases once', async () => {
  const values = ['{orders}', '1000', '200 ms', null, '{}', '{}'];
  const found = await functionPlanNodes(fixture.database, 'sweep_part', values);
  expect(wastedBy(found)).toBe(0);
  const locked = await functionPlanNodes(fixture.database, 'release_locked', [
    await waitingMessages(fixture.database, 1_000),
  ]);
  // What it has read is in memory.
  expect(wastedBy(locked.filter((node) => node['Node Type'] !== 'CTE Scan'))).toBe(0);
});
