import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { claim } from '../../../src/store/lane/claim.ts';
import { acquireLane, freeLease } from '../../../src/store/lane/lease.ts';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { look } from '../../../src/store/lane/watch.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { pagesOf, planNodes, statementOf, stopAutovacuum } from '../../support/fixtures/query-plan.ts';

// A relay that started with an empty table keeps the plans that it made then, until the table is first analyzed.
const passed = 10_000;
/** The passed messages fill four times as many. */
const fewPages = 60;
const me = '00000000-0000-4000-8000-000000000001';

let fixture: LaneFixture;
beforeAll(async () => {
  fixture = await laneFixture();
  await stopAutovacuum(fixture.database, ['message']);
});
afterAll(() => fixture.drop());

/** Behind everything that is committed. */
async function claimNothing(sql: Sql): Promise<unknown> {
  const [now] = await fixture.database.query<{ cursor: string; snapshot: string }>(
    `select coalesce(max(position), 0)::text as cursor, pg_current_snapshot()::text as snapshot from outbox.message`,
  );
  if (now === undefined) throw new Error('A count answers one row.');
  return claim(sql, fixture.lane, {
    owner: me,
    ...now,
    limit: 2_000,
    bytes: 16_777_216,
    failedBlocks: false,
    suspect: null,
  });
}

async function passSome(): Promise<void> {
  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id)
     select gen_random_uuid(), 'orders', 0, 'k' || g % 100, '{}', 'ready', 'w' from generate_series(1, $1::integer) g`,
    [passed],
  );
  await fixture.database.query(
    `update outbox.lane set cursor = (select max(position) from outbox.message), snapshot = pg_current_snapshot()`,
  );
}

/** Pages that a statement without work touches, on a connection that has run it while the table was empty. */
async function pagesAfterwards(work: (sql: Sql) => Promise<unknown>): Promise<number> {
  await fixture.database.query('delete from outbox.message');
  return fixture.database.transaction(async (sql) => {
    await work(sql);
    await passSome();
    const { text, values } = await statementOf(work);
    return pagesOf(await planNodes(sql, text, values));
  });
}

test('on a table that was never analyzed, a claim does not read the published messages of its lane', async () => {
  await acquireLane(fixture.database, fixture.lane, me);
  expect(await pagesAfterwards(claimNothing)).toBeLessThan(fewPages);
  await freeLease(fixture.database, fixture.lane, me, true);
});

test('on a table that was never analyzed, neither does the search for lanes with work', async () => {
  expect(await pagesAfterwards((sql) => wantedLanes(sql, ['orders']))).toBeLessThan(fewPages);
});

test('on a table that was never analyzed, neither does a look', async () => {
  const lookOn = async (sql: Sql): Promise<unknown> => {
    const [now] = await fixture.database.query<{ snapshot: string }>(
      'select pg_current_snapshot()::text as snapshot',
    );
    return look(sql, now?.snapshot ?? null);
  };
  expect(await pagesAfterwards(lookOn)).toBeLessThan(fewPages);
});
