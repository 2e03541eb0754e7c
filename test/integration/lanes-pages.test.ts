import { afterEach, beforeEach, expect, test } from 'vitest';
import type { State } from '../../src/core/transitions.ts';
import type { Database } from '../../src/store/database/database.ts';
import { beginChange } from '../../src/store/lane/lanes-change.ts';
import { replaceMessages } from '../../src/store/lane/lanes-replace.ts';
import { switchLanes } from '../../src/store/lane/lanes-switch.ts';
import { type LaneFixture, laneFixture } from '../support/fixtures/lane-fixture.ts';

/** Of which seven of eight leave the only lane: more than two pages. */
const ofEach = 2_400;
const lanes = 8;
const by = { actor: 'test' };

let fixture: LaneFixture;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(() => fixture.drop());

async function store(state: State, confirmed = false): Promise<void> {
  const begins = state === 'waiting' ? 'waiting' : 'ready';
  const stored = await fixture.database.query<{ id: string }>(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at)
     select gen_random_uuid(), 'orders', 0, 'k' || g, '{}', $1::outbox.state, 'w', case when $1 = 'waiting' then now() end
     from generate_series(1, $2::integer) g returning id`,
    [begins, ofEach],
  );
  if (state === begins) return;
  await fixture.database.query(
    `update outbox.message set state = $2::outbox.state, confirm_by = case when $3 then now() end where id = any($1::uuid[])`,
    [stored.map(({ id }) => id), state, confirmed],
  );
}

/** The database, which counts the rows that each transaction has moved. */
function counted(pages: number[]): Database {
  const { database } = fixture;
  return Object.assign(Object.create(database) as Database, {
    transaction: ((work) =>
      database.transaction((sql) =>
        work({
          query: async <Row>(...statement: Parameters<typeof sql.query>) => {
            const rows = await sql.query<Row>(...statement);
            const [row] = rows as readonly { readonly moved?: number }[];
            if (row?.moved !== undefined) pages.push(row.moved);
            return rows;
          },
        }),
      )) satisfies Database['transaction'],
  });
}

test('a change of lanes moves messages of every state, a thousand per transaction at most', async () => {
  await fixture.database.query(`update outbox.lane set snapshot = pg_current_snapshot()`);
  // Committed behind the cursor.
  await store('ready');
  await fixture.database.query('update outbox.lane set cursor = (select max(position) from outbox.message)');
  for (const state of ['ready', 'waiting', 'held', 'retrying', 'failed'] as const) await store(state);
  await store('published', true);
  await store('published');
  const pages: number[] = [];

  const change = await beginChange(fixture.database, { topic: 'orders', kind: 'lanes', wanted: lanes }, by);
  await switchLanes(fixture.database, change, by);
  const moved = await replaceMessages(counted(pages), change);

  const left = await fixture.database.query<{ state: string; confirmed: boolean; count: number }>(
    `select state::text, confirm_by is not null as confirmed, count(*)::integer as count from outbox.message
     where lane <> outbox.lane_of(key, id, $1) group by 1, 2`,
    [lanes],
  );
  // What nobody will send again stays where it was published.
  expect(left).toEqual([{ state: 'published', confirmed: false, count: expect.any(Number) }]);
  expect(Math.max(...pages)).toBe(1_000);
  expect(pages.filter((count) => count === 1_000)).toHaveLength(2 * 7);
  expect(pages.reduce((sum, count) => sum + count, 0)).toBe(moved);
});
