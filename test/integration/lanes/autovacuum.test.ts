// @module-tag apart
import { expect, test } from 'vitest';
import { z } from 'zod';
import { policyOf } from '../../../src/app/relay/topic-policy.ts';
import { topic } from '../../../src/core/topic.ts';
import { changeLanes } from '../../../src/operations/delivery/lanes.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { migrate, readMigrations } from '../../../src/store/installation/migrate.ts';
import { upsertTopics } from '../../../src/store/lane/topics.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { ownPostgres } from '../../support/fixtures/own-postgres.ts';
import { until } from '../../support/fixtures/until.ts';

const by = { actor: 'test' };

/** The same server, another database. */
function databaseOf(url: string, name: string): URL {
  const at = new URL(url);
  at.pathname = `/${name}`;
  return at;
}

test('a change of lanes by a role without rights waits for transactions of other roles, but not for autovacuum', {
  tags: ['autovacuum-delays-no-lanes'],
}, async (context) => {
  const { url } = await ownPostgres(context, ['autovacuum_naptime=1s']);
  const admin = openDatabase({ url, connections: 1 });
  context.onTestFinished(() => admin.close());
  await admin.query(`create role own login password 'own'`);
  await admin.query('create database own owner own');
  const asOwner = Object.assign(databaseOf(url, 'own'), { username: 'own', password: 'own' });
  const database = openDatabase({ url: asOwner.href });
  context.onTestFinished(() => database.close());
  await migrate(database, await readMigrations());
  await upsertTopics(database, [policyOf(topic('orders', z.unknown()), 'scripted')]);
  // A vacuum that takes minutes: it rests 100 ms at nearly every page.
  await database.query(
    `create table large (n integer, filler text) with (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0,
       autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)`,
  );
  await database.query(`insert into large select n, repeat('x', 1000) from generate_series(1, 20000) n`);
  await database.query('delete from large');
  const vacuums = () =>
    admin.query(`select from pg_stat_activity where backend_type = 'autovacuum worker' and datname = 'own'
      and query like 'autovacuum: VACUUM%large'`);
  await until(async () => (await vacuums()).length === 1, 60_000);

  expect(await changeLanes(database, 'orders', 2, { ...by, timeout: 20_000 })).toEqual({
    done: true,
    moved: 0,
  });
  expect(await vacuums()).toHaveLength(1);

  const open = await openTransaction(databaseOf(url, 'own').href);
  await open.query('select 1 from outbox.topic');
  expect(await changeLanes(database, 'orders', 3, { ...by, timeout: 200 })).toEqual({
    done: false,
    waitingFor: 'transactions',
    who: [expect.stringMatching(/^process \d+$/)],
  });
  await open.rollback();
  expect(await changeLanes(database, 'orders', 3, by)).toEqual({ done: true, moved: 0 });
});
