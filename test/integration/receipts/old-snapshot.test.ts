import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { DueEdge } from '../../../src/store/lane/due-edge.ts';
import { lockOverdue, overdueTopics } from '../../../src/store/message/confirm-overdue.ts';
import { type ConfirmFixture, confirmFixture } from '../../support/fixtures/confirm-fixture.ts';
import { pagesOf, planNodes, statementOf, stopAutovacuum } from '../../support/fixtures/query-plan.ts';
import { until } from '../../support/fixtures/until.ts';

/** Pages of a statement that finds little: a few per index. */
const fewPages = 60;
const rarely = 3_600_000;

let fixture: ConfirmFixture;
beforeEach(async () => {
  fixture = await confirmFixture();
});
afterEach(() => fixture.lanes.drop());

async function pages(work: (sql: Sql) => Promise<unknown>): Promise<number> {
  const { database } = fixture.lanes;
  const { text, values } = await statementOf(work);
  return pagesOf(await planNodes(database, text, values));
}

const edgesOf = (edge: DueEdge) => new Map([['orders', edge]]);

/** Messages that were overdue one after the other, and are confirmed. */
async function confirmed(count: number): Promise<void> {
  const { database } = fixture.lanes;
  await database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id)
     select gen_random_uuid(), 'orders', 0, '{}', 'ready', 'w' from generate_series(1, $1::integer)`,
    [count],
  );
  await database.query(
    `update only outbox.message set state = 'published', sends = 1, published_at = now(),
       confirm_by = now() - interval '1 hour' + position * interval '1 ms'`,
  );
  await database.query(`update only outbox.message set state = 'confirmed', confirm_by = null`);
}

test('behind an old snapshot a check for overdue messages reads none of those that were confirmed', {
  tags: ['history-slows-nothing'],
}, async () => {
  const { database } = fixture.lanes;
  const old = await fixture.lanes.begin();
  await stopAutovacuum(database, ['message']);
  await old.query('set transaction isolation level repeatable read');
  await old.query('select from outbox.lane');
  await confirmed(20_000);
  await fixture.publish('K', 'A');
  await database.query(
    `update outbox.message set confirm_by = outbox.clock() - interval '500 ms' where id = $1`,
    [fixture.lanes.idOf('A')],
  );
  const walked = new DueEdge(rarely);
  const [found] = await overdueTopics(database, edgesOf(walked));
  if (found === undefined) throw new Error('The message is not overdue.');

  const again = await pages((sql) => overdueTopics(sql, edgesOf(walked)));
  const locked = await pages((sql) => lockOverdue(sql, found, undefined, 500));
  const atStart = await pages((sql) => overdueTopics(sql, edgesOf(new DueEdge())));
  await old.rollback();

  expect(again).toBeLessThan(fewPages);
  expect(locked).toBeLessThan(fewPages);
  // The fault fired: from the start there is a lot to read.
  expect(atStart).toBeGreaterThan(10 * fewPages);
});

test('a message that becomes overdue later is found, and one whose time was moved back by a walk from the start', async () => {
  const { database } = fixture.lanes;
  await fixture.publish('K', 'A', 'B');
  const rests = edgesOf(new DueEdge(rarely));
  const walks = edgesOf(new DueEdge(0));
  for (const edges of [rests, walks]) expect(await overdueTopics(database, edges)).toEqual([]);

  await database.query(`update outbox.message set confirm_by = outbox.clock() where id = $1`, [
    fixture.lanes.idOf('B'),
  ]);
  expect(await overdueTopics(database, rests)).toMatchObject([{ topic: 'orders', unplaced: false }]);
  expect(await overdueTopics(database, rests)).toHaveLength(1);

  await fixture.expire('A');
  const [first] = await database.query<{ since: string }>(
    `select confirm_by::text as since from outbox.message where id = $1`,
    [fixture.lanes.idOf('A')],
  );
  await until(async () => (await overdueTopics(database, walks))[0]?.since === first?.since);
});
