import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { migrate, readMigrations } from '../../../src/store/installation/migrate.ts';
import { pooledDatabase } from '../../support/faults/pooled-database.ts';
import { createEmptyDatabase } from '../../support/fixtures/database.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { plantTraps } from '../../support/fixtures/traps.ts';

const me = '00000000-0000-4000-8000-000000000001';

/**
 * Functions without a search path of their own, because they are inlined or called very often, each with calls that resolve
 * every name in it: one for a function in SQL, which is parsed as a whole, and one per way through plpgsql.
 */
const exact = new Map<string, readonly string[]>([
  ['clock', ['outbox.clock()']],
  ['lately', ['outbox.lately(clock_timestamp(), 1000)']],
  ['uuid_v7', ['outbox.uuid_v7()']],
  ['sha256', [`outbox.sha256('a')`]],
  ['exact', [`outbox.exact('1 day')`]],
  ['topics_of', [`outbox.topics_of('orders', 'x')`]],
  ['lane_of', [`outbox.lane_of('k', null, 8)`]],
  ['lane_workflow_id', [`outbox.lane_workflow_id('orders', 0)`]],
  ['message_workflow_id', [`outbox.message_workflow_id('${me}')`]],
  ['incarnation', ['outbox.incarnation()']],
  ['session_lives', ['outbox.session_lives(1)']],
  ['lane_owned', [`(select outbox.lane_owned(l, '${me}') from outbox.lane l)`]],
  ['lane_taken', ['(select outbox.lane_taken(l) from outbox.lane l)']],
  ['none_left', [`outbox.none_left('1', '1:1:')`]],
  ['lane_may_pass', [`(select outbox.lane_may_pass(l, 1, '1:1:', 1, '1:1:') from outbox.lane l)`]],
  ['is_passed', [`outbox.is_passed(1, '1:1:', 1, '1:1:', 1, '1'::xid8)`]],
  ['batch_facts', [`(select published_at from outbox.batch_facts('orders', 0, 1))`]],
  ['is_topic_name', [`outbox.is_topic_name('orders')`]],
  ['deliverer', [`outbox.deliverer('i', 'orders', 0, '${me}', true)`]],
  ['limit_transaction', ['outbox.limit_transaction(1000, 1000)']],
  ['limit_idle', ['outbox.limit_idle()']],
  ['current_epoch', ['outbox.current_epoch()']],
  ['not_yet_known', ['outbox.not_yet_known()']],
  ['parked_workflow_id', [`outbox.parked_workflow_id('g', '${me}')`]],
  [
    'is_asked_for',
    [
      `(select outbox.is_asked_for(p, array['failed'], 'r') from outbox.parked p right join (select) x on true)`,
    ],
  ],
  ['is_paused', [`outbox.is_paused('orders')`]],
  [
    'store_one',
    [
      `outbox.store_one('orders', '{}', 'k', '{"a": "b"}', null, null, null)`,
      `outbox.store_one('orders', '{}', 'k', null, 60000, null, gen_random_uuid())`,
      `outbox.store_one('orders', '{}', null, null, null, now() - interval '1 day')`,
      `outbox.store_one('unknown', '{}')`,
      `outbox.store_one('not a name', '{}')`,
    ],
  ],
  [
    'pass',
    ['(0,0)', '(0,1)'].map(
      (place) =>
        `outbox.pass('orders', 0, '${me}', '${place}', 1, '1:1:', 1000, gen_random_uuid(), 1, 1, 1, '{}', false, 1, '1:1:', false, '1:1:', false, '1:1:')`,
    ),
  ],
]);

/** Called by functions with a search path, or by connections that have one, and by nothing else. */
const within = [
  'claimable',
  'claimable_in_log',
  'expiry_of',
  'expiry_refusal',
  'free_blocked',
  'freed_since',
  'is_open',
  'rate_scope',
  'refusal',
  'refusals',
  'replaced_due',
  'waiting_of_key',
  'wire_expired',
];

let fixture: LaneFixture;
let remove: (() => Promise<void>)[] = [];
beforeEach(async () => {
  fixture = await laneFixture({ lanes: 1 });
});
afterEach(async () => {
  for (const end of remove.toReversed()) await end();
  remove = [];
  await fixture.drop();
});

async function trap(): Promise<void> {
  const traps = await plantTraps(fixture.database);
  remove.push(() => traps.remove());
  expect(traps.planted).toBeGreaterThan(1_000);
}

test('every function resolves names by the catalog alone, or is listed as having exact operators', async () => {
  const open = await fixture.database.query<{ name: string }>(
    `select p.proname as name from pg_proc p where p.pronamespace = 'outbox'::regnamespace
       and not coalesce('search_path=pg_catalog, pg_temp' = any(p.proconfig), false) order by 1`,
  );
  expect(open.map(({ name }) => name)).toEqual([...exact.keys(), ...within].toSorted());
});

test('functions with exact operators call none of another role', async () => {
  await fixture.database.query(
    `insert into outbox.lane (topic, n, owner, incarnation, alive_until, session)
     select 'orders', 0, '${me}', outbox.incarnation(), clock_timestamp() + interval '9 seconds', 7
     on conflict (topic, n) do update set owner = excluded.owner, incarnation = excluded.incarnation,
       alive_until = excluded.alive_until, session = excluded.session`,
  );
  const attempts = async (): Promise<readonly string[]> => {
    const failed: string[] = [];
    for (const calls of exact.values())
      for (const call of calls)
        await fixture.database
          .query(`select ${call}`)
          .catch((error: unknown) => failed.push(`${call}: ${String(error)}`));
    return failed;
  };
  expect(await attempts()).toEqual([]);
  await trap();
  expect(await attempts()).toEqual([]);
  // So that a trap that catches nothing is noticed.
  await expect(fixture.database.query('select extract(epoch from now()) * 1000')).rejects.toThrow('trapped');
  await expect(fixture.database.query(`select from outbox.message where state = 'ready'`)).rejects.toThrow(
    'trapped',
  );
});

test('a role that may create operators in public has none of them run as the owner of the outbox', async () => {
  await trap();
  const { database } = fixture;
  const own = openDatabase({ url: fixture.url, ownNames: true });
  remove.push(() => own.close());

  for (const call of [
    `outbox.send('orders', '{}', 'k', interval '1 hour', ref => 'r', expires_after => interval '2 hours')`,
    `outbox.send('orders', '{}', 'k', ref => 'r', replace => true, at_most => interval '2 hours')`,
    `outbox.cancel_key('orders', 'none')`,
    `outbox.store('orders', '[{"payload": "{}", "ref": "other", "afterMs": 5}]')`,
    `outbox.store_many('orders', gen_random_uuid()::text, '{}', null, null, '5', null)`,
    `outbox.reschedule('orders', 'r', after => interval '2 hours')`,
    `outbox.cancel('orders', 'r')`,
    `outbox.look(null, null)`,
    `outbox.look('1:1:', now())`,
    `outbox.sweep('{}', 10, '0', null)`,
    `outbox.release_due(array[gen_random_uuid()])`,
    `outbox.claim('orders', 0, 10, 0, '1:1:', '${me}', 1000, true, null, '(0,1)', null, null, true)`,
    `outbox.release_blocked('orders', 0, true, '', 10, 10, '(0,1)')`,
    `outbox.note_blocked('orders', 0, array[gen_random_uuid()])`,
    `outbox.walk_blocked('', 0, '', 10)`,
    `outbox.want_lanes('{orders}', false, '1 minute', '1 second', 10, '{orders}', '{0}')`,
    `outbox.receive('g', array['a'], array['orders'], array['k'], 1000, 1000)`,
    `outbox.receive_one('g', 'b', 'orders', 1000, 1000, 'k')`,
  ])
    await database.query(`select * from ${call}`);
  await expect(
    own.query(`select id from outbox.message where state = 'ready' limit 1`),
  ).resolves.toBeDefined();
});

test('the objects of the migration refer to nothing of another role', async () => {
  const empty = await createEmptyDatabase();
  remove.push(() => empty.drop());
  const traps = await plantTraps(empty.database);
  remove.push(() => traps.remove());

  await migrate(empty.database, await readMigrations());

  const [found] = await empty.database.query<{ foreign: string[]; path: string }>(
    `select array(select distinct pg_describe_object(d.refclassid, d.refobjid, 0) from pg_depend d
       where d.refclassid operator(pg_catalog.=) any (array['pg_operator'::regclass::oid, 'pg_proc'::regclass::oid])
         and d.classid operator(pg_catalog.<>) all (array['pg_operator'::regclass::oid, 'pg_proc'::regclass::oid])
         and pg_describe_object(d.refclassid, d.refobjid, 0) ~~ '%trap%') as foreign, current_setting('search_path') as path`,
  );
  expect(found).toEqual({ foreign: [], path: '"$user", public' });
});

test('connections of relays and commands set a search path of their own, but not one that a pooler would pass on', async (context) => {
  const asked = `select current_setting('search_path') as path`;
  const direct = openDatabase({ url: fixture.url, connections: 1, ownNames: true });
  const url = await pooledDatabase(context, fixture.url, 1);
  const pooled = openDatabase({ url, connections: 1, ownNames: true });
  const neighbor = openDatabase({ url, connections: 1 });
  remove.push(...[direct, pooled, neighbor].map((database) => () => database.close()));
  const own = { path: 'pg_catalog, pg_temp' };
  const theirs = { path: '"$user", public' };

  expect(await direct.query(asked)).toEqual([own]);
  expect(await direct.transaction((sql) => sql.query(asked))).toEqual([own]);
  expect(await pooled.transaction((sql) => sql.query(asked))).toEqual([own]);
  expect(await pooled.query(asked)).toEqual([theirs]);
  expect(await neighbor.query(asked)).toEqual([theirs]);
});
