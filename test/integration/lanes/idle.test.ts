import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Lane } from '../../../src/core/lane.ts';
import { searchLanes } from '../../../src/store/lane/starts.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';

const count = 1_024;

let fixture: LaneFixture;
beforeAll(async () => {
  fixture = await laneFixture({ lanes: count });
  // Old snapshots that saw many transactions running: each of them is looked for in every table.
  await fixture.database.query(
    `update outbox.lane set snapshot = (
       select ('1000:1400:' || string_agg((1000 + i * 3)::text, ',' order by i))::pg_snapshot from generate_series(0, 99) i)`,
  );
});
afterAll(() => fixture.drop());

let quiet: readonly Lane[];
beforeEach(async () => {
  await fixture.database.query(
    `update outbox.lane set owner = null, started_at = null, wanted_since = null, hold = null, untold_from = null`,
  );
  ({ quiet } = await searchLanes(fixture.database, ['orders'], []));
});

const searched = (known: readonly Lane[]) => searchLanes(fixture.database, ['orders'], known);

async function pages(known: readonly Lane[]): Promise<number> {
  const { text, values } = await statementOf((sql) => searchLanes(sql, ['orders'], known));
  return pagesOf(await planNodes(fixture.database, text, values));
}

test('a lane that is known to be quiet costs a search a few pages, and any other one hundreds', {
  tags: ['history-slows-nothing'],
}, async () => {
  expect(quiet).toHaveLength(count);
  expect(await pages(quiet)).toBeLessThan(10 * count);
  const some = await pages(quiet.slice(8));
  expect(some).toBeGreaterThan(8 * 200);
  expect(some).toBeLessThan(await pages(quiet.slice(16)));
});

test('a search answers which of the lanes that it has searched are quiet', async () => {
  const { lane } = fixture;
  const known = quiet.filter((one) => one.lane !== lane.lane);
  expect(await searched(known)).toEqual({ starts: [], quiet: [lane] });
  expect(await searched(quiet)).toEqual({ starts: [], quiet: [] });
});

const tells = {
  'an owner that has died': `update outbox.lane set owner = gen_random_uuid(), alive_until = '-infinity' where n = 7`,
  'a start without effect': `update outbox.lane set wanted_since = clock_timestamp() where n = 7`,
  'a failure that nobody was told of': `update outbox.lane set untold_from = 1, untold_to = 1 where n = 7`,
  'a freed key': `insert into outbox.freed_key (topic, lane, key) values ('orders', 7, 'k')`,
};

test.each(Object.entries(tells))('%s has a lane searched that was quiet', async (_name, statement) => {
  await fixture.database.query(statement);
  const { starts, quiet: still } = await searched(quiet);
  expect([...starts, ...still].map(({ lane }) => lane)).toEqual([7]);
  await fixture.database.query('delete from outbox.freed_key');
});

test('a hold, and a message that is due soon, start a lane that was quiet', async () => {
  await fixture.database.query(`update outbox.lane set hold = '{}' where n = 8`);
  const id = await fixture.send('A', { afterMs: 2_000 });
  await fixture.database.query(`update outbox.message set lane = 9 where id = $1`, [id]);
  const { starts } = await searched(quiet);
  expect(new Set(starts.map(({ lane }) => lane))).toEqual(new Set([8, 9]));
  await fixture.database.query('delete from only outbox.message');
});
