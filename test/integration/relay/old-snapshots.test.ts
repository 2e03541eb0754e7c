import { afterEach, expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { claim } from '../../../src/store/lane/claim.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import type { OpenTransaction } from '../../support/fixtures/open-transaction.ts';
import { pagesOf, planNodes, statementOf, stopAutovacuum } from '../../support/fixtures/query-plan.ts';

/** Messages that had something special, and are over: with few, and with many, a claim finds as little. */
const few = 100;
const many = 20_000;
const owner = '00000000-0000-4000-8000-000000000001';
/** Three pages deeper than the small one, in each index that a claim descends into. */
const deeper = 40;

let open: { readonly fixture: LaneFixture; readonly old: OpenTransaction } | undefined;
afterEach(async () => {
  await open?.old.rollback();
  await open?.fixture.drop();
  open = undefined;
});

const stored = `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id)
  select gen_random_uuid(), 'orders', 0, 'k' || g, '{}', 'ready', 'w' from generate_series(1, $1::integer) g`;
const passed = `update outbox.lane set cursor = (select last_value from outbox.message_position), snapshot = pg_current_snapshot()`;

/** What a lane has been through while the old snapshot was held. */
const pasts: Readonly<Record<string, (sql: Sql, count: number) => Promise<void>>> = {
  'messages that were confirmed': async (sql, count) => {
    await sql.query(stored, [count]);
    await sql.query(
      `update only outbox.message set state = 'published', published_at = now(), confirm_by = now(), sends = 1`,
    );
    await sql.query(`update only outbox.message set state = 'confirmed', confirm_by = null`);
  },
  'messages that were archived': async (sql, count) => {
    await sql.query(stored, [count]);
    await sql.query(passed);
    await sql.query('delete from only outbox.message');
  },
  'messages that were retried and confirmed': async (sql, count) => {
    await sql.query(stored, [count]);
    await sql.query(`update only outbox.message set state = 'retrying', due_at = now(), attempts = 1`);
    await sql.query(`update only outbox.message set state = 'ready', xid = pg_current_xact_id()`);
    await sql.query(
      `update only outbox.message set state = 'published', published_at = now(), confirm_by = now(), sends = 1`,
    );
  },
};

/** Nothing that lives is in front of the dead entries: it would hide them from a search that ends with the first it finds. */
async function pagesBehind(
  past: string,
  count: number,
  work: (on: LaneFixture, sql: Sql) => Promise<unknown>,
) {
  const fixture = await laneFixture();
  const { database } = fixture;
  const old = await fixture.begin();
  open = { fixture, old };
  await stopAutovacuum(database, ['message', 'lane']);
  await old.query('set transaction isolation level repeatable read');
  await old.query('select from outbox.lane');
  await pasts[past]?.(database, count);
  await database.query(passed);
  await acquireLane(database, fixture.lane, owner);
  await database.query(`update outbox.lane set alive_until = clock_timestamp() + interval '1 hour'`);
  const { text, values } = await statementOf((sql) => work(fixture, sql));
  const pages = pagesOf(await planNodes(database, text, values));
  await old.rollback();
  await fixture.drop();
  open = undefined;
  return pages;
}

const claimed = async ({ database, lane }: LaneFixture, sql: Sql): Promise<unknown> => {
  const [at] = await database.query<{ cursor: string; snapshot: string }>(
    'select cursor, snapshot::text from outbox.lane',
  );
  if (at === undefined) throw new Error('The lane is missing.');
  return claim(sql, lane, {
    owner,
    ...at,
    limit: 2_000,
    bytes: 16_777_216,
    failedBlocks: false,
    suspect: null,
  });
};

test.each(Object.keys(pasts))(
  'a quiet lane costs a claim as little behind %s and an old snapshot',
  async (past) => {
    const least = await pagesBehind(past, few, claimed);
    const most = await pagesBehind(past, many, claimed);

    expect(most).toBeLessThan(least + deeper);
  },
);

test.each(Object.keys(pasts))(
  'the search for lanes costs as little behind %s and an old snapshot',
  async (past) => {
    const search = async ({ database }: LaneFixture, sql: Sql): Promise<unknown> => {
      // One that is owned would not be searched.
      await database.query('update outbox.lane set owner = null, started_at = null');
      return wantedLanes(sql, ['orders']);
    };
    const least = await pagesBehind(past, few, search);
    const most = await pagesBehind(past, many, search);

    expect(most).toBeLessThan(least + deeper);
  },
);
