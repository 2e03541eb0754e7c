import { beforeEach, expect, test } from 'vitest';
import { wantedLanes } from '../../../src/store/lane/starts.ts';
import { releaseBlocked, walkBlocked } from '../../../src/store/message/release-blocked.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { pagesOf, planNodes, statementOf } from '../../support/fixtures/query-plan.ts';

const atOnce = 1_000;
/** A row is found, locked, written, and gets an entry in some ten indexes. */
const pagesPerRow = 60;

let fixture: LaneFixture;
eachLane((made) => (fixture = made));
beforeEach(async () => {
  // Statistics of before: nothing was ever blocked.
  await fixture.database.query('analyze outbox.message');
});

/** Stores messages as a settle leaves them: `of` messages for each key, the first of them in `head`. */
async function block(keys: number, of: number, head: 'retrying' | 'blocked'): Promise<void> {
  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, key, payload, state, workflow_id, due_at)
     select gen_random_uuid(), 'orders', 0, 'K' || to_char(k, 'FM00000'), '{}', 'ready', 'w', now() + interval '1 hour'
     from generate_series(1, $1::integer) k, generate_series(1, $2::integer) n order by n, k`,
    [keys, of],
  );
  await fixture.database.query(
    `update outbox.message m set state = case when m.position = h.position then $1::outbox.state else 'blocked' end
     from (select key, min(position) as position from outbox.message group by key) h where h.key = m.key`,
    [head],
  );
  await walkBlocked(fixture.database);
}

async function stillBlocked(): Promise<readonly number[]> {
  const rows = await fixture.database.query<{ n: number }>(
    `select n::integer from (select state, row_number() over (order by position) as n from outbox.message) x where state = 'blocked' order by n`,
  );
  return rows.map(({ n }) => n);
}

test('thousands of blocked messages of one key are released from the first on, a thousand at a time, each at the same cost', async () => {
  await block(1, 3_500, 'blocked');

  const costs: number[] = [];
  for (const left of [2_500, 1_500, 500, 0]) {
    const { text, values } = await statementOf((sql) => releaseBlocked(sql, fixture.lane, false));
    costs.push(pagesOf(await planNodes(fixture.database, text, values)));
    expect(await stillBlocked()).toEqual(Array.from({ length: left }, (_, n) => 3_500 - left + n + 1));
  }

  expect(Math.max(...costs)).toBeLessThan(atOnce * pagesPerRow);
  expect(await releaseBlocked(fixture.database, fixture.lane, false)).toEqual({
    freed: false,
    released: 0,
    next: '',
  });
});

test('messages released in parts are delivered in order, among later ones', async () => {
  await block(1, 2_500, 'blocked');
  await fixture.send('later', { key: 'K00001' });

  await fixture.drain();

  const positions = await fixture.database.query<{ id: string }>(
    `select id from outbox.message order by position`,
  );
  expect(fixture.broker.log.map(({ id }) => id)).toEqual(positions.map(({ id }) => id));
});

test('a walk over keys that are all blocked continues where it was and skips none', async () => {
  await block(2_500, 2, 'retrying');
  await fixture.database.query(
    `update outbox.message set state = 'canceled' where state = 'retrying' and key in ('K00001', 'K02400')`,
  );
  await fixture.database.query(
    `insert into outbox.freed_key (topic, lane, key) select 'orders', 0, key from outbox.message where state = 'retrying'`,
  );

  const first = await releaseBlocked(fixture.database, fixture.lane, false, '');
  const second = await releaseBlocked(fixture.database, fixture.lane, false, first.next);
  const third = await releaseBlocked(fixture.database, fixture.lane, false, second.next);

  expect([first, second, third]).toEqual([
    { freed: true, released: 1, next: 'K01000' },
    { freed: true, released: 0, next: 'K02000' },
    { freed: false, released: 1, next: '' },
  ]);
});

test('a key whose first message is locked does not keep a thousand others from being released', async () => {
  await block(3, 1_200, 'blocked');
  const canceling = await fixture.begin();
  await canceling.query(`update outbox.message set state = 'canceled' where key = 'K00001' and position =
    (select min(position) from outbox.message where key = 'K00001')`);

  const first = await releaseBlocked(fixture.database, fixture.lane, false);
  const second = await releaseBlocked(fixture.database, fixture.lane, false, first.next);
  await canceling.rollback();

  expect(first).toEqual({ freed: true, released: 0, next: 'K00001' });
  expect(second).toMatchObject({ freed: true, released: 1_000 });
  const [row] = await fixture.database.query(`select count(*)::integer as blocked from outbox.message
    where key = 'K00001' and state = 'blocked'`);
  expect(row).toEqual({ blocked: 1_200 });
});

test('the search finds cheaply that a lane with thousands of blocked messages of one key has no work', async () => {
  await block(1, 20_000, 'retrying');
  // What was ready before is another matter.
  await fixture.database.query('vacuum outbox.message');
  const { text, values } = await statementOf((sql) => wantedLanes(sql, ['orders']));

  expect(pagesOf(await planNodes(fixture.database, text, values))).toBeLessThan(100);
  expect(await wantedLanes(fixture.database, ['orders'])).toEqual([]);
});
