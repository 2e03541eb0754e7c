import { expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { DueEdge } from '../../../src/store/lane/due-edge.ts';
import { look } from '../../../src/store/lane/watch.ts';
import { sweep } from '../../../src/store/message/release.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';
import { until } from '../../support/fixtures/until.ts';

/** Pages of a statement that finds nothing: a few per index. */
const fewPages = 60;

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

const released = async (edge: DueEdge) => (await sweep(fixture.database, ['orders'], 2_000, edge)).released;

/** Stores messages that became due one after the other. */
async function due(count: number): Promise<void> {
  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id, due_at, workflow_due_at)
     select gen_random_uuid(), 'orders', 0, '{}', 'waiting', 'w', at, at
     from (select now() - (1000 + $1 - g) * interval '1 ms' as at from generate_series(1, $1::integer) g) x`,
    [count],
  );
}

async function pages(work: (sql: Sql) => Promise<unknown>): Promise<number> {
  const { text, values } = await statementOf(work);
  return pagesOf(await planNodes(fixture.database, text, values));
}

test('behind an old snapshot looks and sweeps read due messages, not released ones', {
  tags: ['history-slows-nothing'],
}, async () => {
  await due(10_000);
  const old = await fixture.begin();
  await old.query('set transaction isolation level repeatable read');
  await old.query('select count(*) from outbox.lane');
  const { snapshot } = await look(fixture.database, null);
  const { edge } = await walkedEdge();
  for (let n = 0; n < 5; n += 1) expect(await released(edge)).toBe(2_000);

  const atStart = await pages((sql) => look(sql, snapshot, new DueEdge()));
  const recent = await look(fixture.database, snapshot);
  expect(await pages((sql) => look(sql, recent.snapshot, edge))).toBeLessThan(fewPages);
  expect(await pages((sql) => sweep(sql, ['orders'], 2_000, edge))).toBeLessThan(fewPages);
  await old.rollback();

  // The fault fired: from the start there is a lot to read.
  expect(atStart).toBeGreaterThan(10 * fewPages);
});

/** One that has walked from the start a moment ago and will not again within this test. */
async function walkedEdge(): Promise<{ edge: DueEdge; snapshot: string }> {
  const edge = new DueEdge();
  const { snapshot } = await look(fixture.database, null, edge);
  const from = edge.from(0);
  if (from === null) throw new Error('A walk says where the next may begin.');
  edge.walked(null, from, 0, Number.MAX_SAFE_INTEGER);
  return { edge, snapshot };
}

/** Moves a message's time far into the past. */
async function moveBack(label: string, sql: Sql = fixture.database): Promise<void> {
  await sql.query(`update outbox.message set due_at = now() - interval '1 hour' where id = $1`, [
    fixture.idOf(label),
  ]);
}

test('a message that commits late is released at once, although everything due before it is released', async () => {
  const late = await fixture.begin();
  await fixture.send('late', { afterMs: 60_000 }, late);
  await moveBack('late', late);
  const { edge, snapshot } = await walkedEdge();
  await due(1);
  const second = await look(fixture.database, snapshot, edge);
  expect(await released(edge)).toBe(1);

  await late.commit();
  const third = await look(fixture.database, second.snapshot, edge);

  expect(second.nextDueInMs).toBeLessThanOrEqual(0);
  expect(third.nextDueInMs).toBeLessThanOrEqual(0);
  expect(await released(edge)).toBe(1);
  expect(await fixture.states('late')).toEqual(['ready']);
});

test('a message locked when due blocks no other and is released by the next walk from the start', async () => {
  await fixture.send('locked', { afterMs: 60_000 });
  await moveBack('locked');
  const canceling = await fixture.begin();
  await fixture.cancel('locked', canceling);
  const { edge, snapshot } = await walkedEdge();
  await due(1);

  expect(await released(edge)).toBe(1);
  expect((await look(fixture.database, snapshot, edge)).nextDueInMs).toBeNull();
  await canceling.rollback();

  expect(await released(new DueEdge())).toBe(1);
  expect(await fixture.states('locked')).toEqual(['ready']);
});

test('a message that a slow transaction has moved to an earlier time is released within two seconds', async () => {
  await fixture.send('moved', { afterMs: 60_000 });
  const edge = new DueEdge();
  const { snapshot } = await look(fixture.database, null, edge);
  expect(await released(edge)).toBe(0);
  await moveBack('moved');

  const isDue = async () => ((await look(fixture.database, snapshot, edge)).nextDueInMs ?? 1) <= 0;
  const found = await until(isDue, 10_000).then(
    () => true,
    () => false,
  );

  expect(found).toBe(true);
  expect(await released(edge)).toBe(1);
});
