import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { markTold, untoldMessages } from '../../../src/store/lane/starts.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { pagesOf, planNodes, statementOf, stopAutovacuum } from '../../support/fixtures/query-plan.ts';

const told = 10_000;

let fixture: LaneFixture;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(() => fixture.drop());

async function pages(work: (sql: Sql) => Promise<unknown>): Promise<number> {
  const { text, values } = await statementOf(work);
  return pagesOf(await planNodes(fixture.database, text, values));
}

test('behind an old snapshot a page of messages without a workflow is read from where the one before has ended', {
  tags: ['history-slows-nothing'],
}, async () => {
  const { database } = fixture;
  const old = await fixture.begin();
  await stopAutovacuum(database, ['message']);
  await old.query('set transaction isolation level repeatable read');
  await old.query('select from outbox.lane');
  await database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id, due_at)
     select gen_random_uuid(), 'orders', 0, '{}', 'waiting', 'w', now() + interval '1 hour' + g * interval '1 ms'
     from generate_series(1, $1::integer) g`,
    [told + 3],
  );
  const read = await untoldMessages(database, told);
  await markTold(database, read);
  const from = read.at(-1)?.dueAt ?? null;

  const next = await pages((sql) => untoldMessages(sql, 200, [], from));
  const atStart = await pages((sql) => untoldMessages(sql, 200));
  const left = await untoldMessages(database, 200, [], from);
  await old.rollback();

  expect(left).toHaveLength(3);
  expect(next * 10).toBeLessThan(atStart);
});
