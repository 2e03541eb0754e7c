import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { beginChange } from '../../../src/store/lane/lanes-change.ts';
import { replaceMessages } from '../../../src/store/lane/lanes-replace.ts';
import { endLanesChange, switchLanes } from '../../../src/store/lane/lanes-switch.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';

const passed = 20_000;
/** The few rows of the topic are read once for each lane and state; a scan reads all that was published. */
const few = 1_000;
const by = { actor: 'test' };

let fixture: LaneFixture;
/** One connection: others would report later what they have read. */
let database: Database;
beforeAll(async () => {
  fixture = await laneFixture();
  database = openDatabase({ url: fixture.url, connections: 1 });
});
afterAll(async () => {
  await database.close();
  await fixture.drop();
});

/** Rows of messages that it has read so far. */
async function read(): Promise<number> {
  await database.query('select pg_stat_force_next_flush()');
  const [row] = await database.query<{ read: number }>(
    `select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::integer as read
     from pg_stat_user_tables where schemaname = 'outbox' and relname = 'message'`,
  );
  return row?.read ?? Number.NaN;
}

test('changing the lanes of a new topic reads no published message of others', async () => {
  await database.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id)
     select gen_random_uuid(), 'orders', 0, 'k' || g % 100, '{}', 'ready', 'w' from generate_series(1, $1::integer) g`,
    [passed],
  );
  await database.query(
    `update outbox.lane set cursor = (select max(position) from outbox.message), snapshot = pg_current_snapshot()`,
  );
  await database.query('vacuum analyze outbox.message');
  await database.query(
    `insert into outbox.topic
     select (jsonb_populate_record(t, '{"name": "new"}')).* from outbox.topic t where t.name = 'orders'`,
  );
  await database.query(`insert into outbox.lane (topic, n) values ('new', 0)`);
  for (const key of ['a', 'b', 'c']) await database.query(`select outbox.send('new', '{}', $1)`, [key]);
  const before = await read();

  const change = await beginChange(database, { topic: 'new', kind: 'lanes', wanted: 8 }, by);
  await switchLanes(database, change, by);
  expect(await replaceMessages(database, change)).toBeGreaterThan(0);
  expect(await endLanesChange(database, change, by)).toBe(true);

  expect((await read()) - before).toBeLessThan(few);
});
