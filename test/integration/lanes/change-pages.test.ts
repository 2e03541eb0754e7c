import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Database, Sql } from '../../../src/store/database/database.ts';
import { beginChange, type TopicChange } from '../../../src/store/lane/lanes-change.ts';
import { replaceMessages } from '../../../src/store/lane/lanes-replace.ts';
import { endLanesChange, switchLanes } from '../../../src/store/lane/lanes-switch.ts';
import { editMessage } from '../../../src/store/message/edit.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { pagesOf, planNodes } from '../../support/fixtures/query-plan.ts';

const by = { actor: 'test' };
/** Pages of messages that are in their right lane. */
const [few, many] = [3_000, 12_000];

let fixture: LaneFixture;
beforeEach(async () => {
  fixture = await laneFixture();
});
afterEach(() => fixture.drop());

/** A key that is in this lane of two. */
async function keyOf(lane: number): Promise<string> {
  const [row] = await fixture.database.query<{ key: string }>(
    `select 'k' || g as key from generate_series(1, 100) g where outbox.lane_of('k' || g, null, 2) = $1 limit 1`,
    [lane],
  );
  return row?.key ?? '';
}

type Kind = 'ready' | 'late' | 'waiting';

/** Messages that stay in the first of two lanes; late ones in a transaction for each. */
async function store(count: number, kind: Kind): Promise<void> {
  const { database } = fixture;
  await database.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at, xid)
     select gen_random_uuid(), 'orders', 0, $2, '{}', $3::outbox.state, 'w', case when $3 = 'waiting' then now() + interval '1 day' end,
       (3 + g)::text::xid8
     from generate_series(1, $1::integer) g`,
    [count, await keyOf(0), kind === 'waiting' ? 'waiting' : 'ready'],
  );
  if (kind === 'late')
    await database.query(
      `update outbox.lane set snapshot = '3:3:', cursor = (select max(position) from outbox.message)`,
    );
}

async function begun(): Promise<TopicChange> {
  const change = await beginChange(fixture.database, { topic: 'orders', kind: 'lanes', wanted: 2 }, by);
  await switchLanes(fixture.database, change, by);
  return change;
}

/** The database, which tells of each statement of a transaction before it runs. */
function seenBy(before: (sql: Sql, ...statement: Parameters<Sql['query']>) => Promise<void>): Database {
  const { database } = fixture;
  return {
    ...database,
    transaction: (work) =>
      database.transaction((sql) =>
        work({
          query: async (...statement) => {
            await before(sql, ...statement);
            return sql.query(...statement);
          },
        }),
      ),
  };
}

/** The most pages of the database that one statement of a change touches. */
async function dearest(count: number, kind: Kind): Promise<number> {
  await store(count, kind);
  await fixture.database.query('analyze outbox.message');
  const change = await begun();
  let most = 0;
  const measured = seenBy(async (sql, text, values = []) => {
    if (!text.includes('as moved')) return;
    await sql.query('savepoint before');
    most = Math.max(most, pagesOf(await planNodes(sql, text, values)));
    await sql.query('rollback to before');
  });
  await replaceMessages(measured, change);
  expect(await endLanesChange(measured, change, by)).toBe(true);
  return most;
}

test.each<Kind>(['ready', 'late', 'waiting'])(
  'no statement of a change of lanes reads more of many %s messages than of few',
  { tags: ['abandoned-lanes-completed'] },
  async (kind) => {
    const least = await dearest(few, kind);
    await fixture.drop();
    fixture = await laneFixture();

    expect(await dearest(many, kind)).toBeLessThan(least * 2);
  },
);

test('a change of lanes that is interrupted after every page goes on where it was, and is completed', {
  tags: ['abandoned-lanes-completed'],
}, async () => {
  await store(few, 'waiting');
  await store(few, 'ready');
  await fixture.send('moves', { key: await keyOf(1) });
  const change = await begun();
  /** Fails in its second transaction that moves. */
  const interrupted = (): Database => {
    let pages = 0;
    return seenBy(async (_sql, text) => {
      if (!text.includes('as moved')) return;
      pages += 1;
      if (pages > 1) throw new Error('canceling statement due to statement timeout');
    });
  };
  const completes = () =>
    replaceMessages(interrupted(), change).then(
      () => true,
      () => false,
    );
  let tries = 0;
  // Two walks of four pages, and one page of each other walk.
  while (tries < 40 && !(await completes())) tries += 1;

  expect(tries).toBeLessThan(40);
  expect(await endLanesChange(fixture.database, change, by)).toBe(true);
  expect(
    await fixture.database.query('select lane from outbox.message where key = $1', [await keyOf(1)]),
  ).toEqual([{ lane: 1 }]);
});

test('a change of lanes waits for a failed message that somebody holds, and moves the copy that an edit makes of it', {
  tags: ['order-per-key'],
}, async () => {
  const { database } = fixture;
  const id = await fixture.send('held', { key: await keyOf(1) });
  await database.query(`select outbox.take_out(array[$1::uuid])`, [id]);
  await database.query(`update outbox.message set state = 'failed' where id = $1`, [id]);
  const change = await begun();
  const editor = await fixture.begin();
  await editor.query('select from only outbox.message where id = $1 for update', [id]);
  await replaceMessages(database, change);
  expect(await endLanesChange(database, change, by)).toBe(false);

  const within: Database = { ...database, transaction: (work) => work(editor) };
  const edited = await editMessage(within, id, { payload: '{"n":2}' }, by, false);
  await editor.commit();
  await replaceMessages(database, change);

  expect(edited).toMatchObject({ kind: 'edited', lane: 0 });
  expect(await endLanesChange(database, change, by)).toBe(true);
  expect(
    await database.query(`select lane, state::text as state from outbox.message where supersedes = $1`, [id]),
  ).toEqual([{ lane: 1, state: 'ready' }]);
});

test('a change of lanes notes no more than a thousand messages that somebody holds', async () => {
  const { database } = fixture;
  await database.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at)
     select gen_random_uuid(), 'orders', 0, $2, '{}', 'waiting', 'w', now() + interval '1 day' from generate_series(1, $1::integer) g`,
    [few, await keyOf(1)],
  );
  const change = await begun();
  const holder = await fixture.begin();
  await holder.query(
    `select from only outbox.message
     where position > (select position from outbox.message order by position offset 99 limit 1) for update`,
  );
  expect(await replaceMessages(database, change)).toBe(100);
  const [noted] = await database.query<{ skipped: number }>(
    'select cardinality(skipped) as skipped from outbox.topic_change',
  );
  expect(noted?.skipped).toBeLessThanOrEqual(1_000);
  expect(await endLanesChange(database, change, by)).toBe(false);

  await holder.rollback();
  expect(await replaceMessages(database, change)).toBe(few - 100);
  expect(await endLanesChange(database, change, by)).toBe(true);
});
