import { expect, test } from 'vitest';
import type { State } from '../../../src/core/transitions.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { beginChange, ChangeGone } from '../../../src/store/lane/lanes-change.ts';
import { replaceMessages } from '../../../src/store/lane/lanes-replace.ts';
import { endLanesChange, switchLanes } from '../../../src/store/lane/lanes-switch.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';

/** Of which seven of eight leave the only lane: more than two pages. */
const ofEach = 2_400;
const lanes = 8;
const by = { actor: 'test' };

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

async function store(state: State, confirmed = false, count = ofEach): Promise<void> {
  const begins = state === 'waiting' ? 'waiting' : 'ready';
  const stored = await fixture.database.query<{ id: string }>(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at)
     select gen_random_uuid(), 'orders', 0, 'k' || g, '{}', $1::outbox.state, 'w', case when $1 = 'waiting' then now() end
     from generate_series(1, $2::integer) g returning id`,
    [begins, count],
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

test('a change of lanes moves messages of every state, at most a thousand per transaction, of late ones five', async () => {
  await fixture.database.query(`update outbox.lane set snapshot = pg_current_snapshot()`);
  // Committed behind the cursor.
  await store('ready');
  await fixture.database.query('update outbox.lane set cursor = (select max(position) from outbox.message)');
  for (const state of ['ready', 'waiting', 'blocked', 'retrying', 'failed'] as const) await store(state);
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
  // What is never sent again stays where it was published.
  expect(left).toEqual([{ state: 'published', confirmed: false, count: expect.any(Number) }]);
  const ofThousand = pages.filter((count) => count <= 1_000);
  expect(Math.max(...ofThousand)).toBeGreaterThan(800);
  // The late ones are of one transaction.
  expect(pages.filter((count) => count > 1_000)).toEqual([expect.closeTo((ofEach * 7) / 8, -3)]);
  expect(pages.reduce((sum, count) => sum + count, 0)).toBe(moved);
});

test.each<readonly [message: string, state: State, confirmed: boolean]>([
  ['ready message beyond the cursor', 'ready', false],
  ['ready message behind the cursor that the lane has not seen', 'ready', false],
  ['waiting message', 'waiting', false],
  ['blocked message', 'blocked', false],
  ['retrying message', 'retrying', false],
  ['failed message', 'failed', false],
  ['published message that may be sent again', 'published', true],
])('a change is not complete while a %s is in another lane', async (message, state, confirmed) => {
  const change = await beginChange(fixture.database, { topic: 'orders', kind: 'lanes', wanted: lanes }, by);
  await switchLanes(fixture.database, change, by);
  await fixture.database.query(`update outbox.lane set snapshot = pg_current_snapshot()`);
  await store(state, confirmed, 8);
  if (message.includes('behind'))
    await fixture.database.query(
      'update outbox.lane set cursor = (select max(position) from outbox.message)',
    );

  expect(await endLanesChange(fixture.database, change, by)).toBe(false);
  await replaceMessages(fixture.database, change);
  expect(await endLanesChange(fixture.database, change, by)).toBe(true);
});

test('messages that a lane has passed, and those that are never sent again, may stay in their lane', async () => {
  const change = await beginChange(fixture.database, { topic: 'orders', kind: 'lanes', wanted: lanes }, by);
  await switchLanes(fixture.database, change, by);
  await store('ready', false, 8);
  await store('published', false, 8);
  await fixture.database.query(
    'update outbox.lane set cursor = (select max(position) from outbox.message), snapshot = pg_current_snapshot()',
  );

  expect(await replaceMessages(fixture.database, change)).toBe(0);
  expect(await endLanesChange(fixture.database, change, by)).toBe(true);
});

test('each step of a change is in the audit with its author and reason, and a change that has begun is continued', async () => {
  const author = { actor: 'ada', reason: 'growth' };
  const begin = (wanted: number) =>
    beginChange(fixture.database, { topic: 'orders', kind: 'lanes', wanted }, author);
  const first = await begin(4);
  expect(await begin(4)).toEqual({ ...first, fresh: false });
  await switchLanes(fixture.database, first, author);
  expect(await begin(4)).toMatchObject({ id: first.id, step: 'switched' });
  const other = await begin(lanes);
  expect(other).toMatchObject({ step: 'begun', wanted: lanes });
  expect(other.id).not.toBe(first.id);
  await expect(switchLanes(fixture.database, first, author)).rejects.toThrow(ChangeGone);
  await switchLanes(fixture.database, other, author);
  expect(await replaceMessages(fixture.database, other)).toBe(0);
  expect(await endLanesChange(fixture.database, other, author)).toBe(true);

  const audit = await fixture.database.query<{ result: string; wanted: number }>(
    `select result, (details ->> 'wanted')::integer as wanted from outbox.audit
     where action = 'lanes' and topic = 'orders' and actor = 'ada' and reason = 'growth' order by id`,
  );
  expect(audit.map(({ result, wanted }) => `${result} ${wanted}`)).toEqual([
    'begun 4',
    'continued 4',
    'switched 4',
    'continued 4',
    'continued 8',
    'switched 8',
    'done 8',
  ]);
  const [after] = await fixture.database.query<{ lanes: number; rows: number; changes: number }>(
    `select t.lanes, (select count(*)::integer from outbox.lane) as rows,
       (select count(*)::integer from outbox.topic_change) as changes from outbox.topic t where t.name = 'orders'`,
  );
  expect(after).toEqual({ lanes, rows: lanes, changes: 0 });
});
