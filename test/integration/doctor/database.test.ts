// @module-tag apart
import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { checksWith, examined } from '../../support/fixtures/doctor.ts';
import { openTransaction } from '../../support/fixtures/open-transaction.ts';
import { ownPostgres } from '../../support/fixtures/own-postgres.ts';
import { until } from '../../support/fixtures/until.ts';

const careless = [
  'fsync=off',
  'full_page_writes=off',
  'synchronous_commit=off',
  'autovacuum=off',
  'max_prepared_transactions=3',
  'max_connections=20',
];

test('settings that lose acknowledged commits are problems, and the statements of the doctor correct them', async (context) => {
  const { url } = await ownPostgres(context, careless);
  const admin = openDatabase({ url, connections: 1 });
  context.onTestFinished(() => admin.close());
  const settings = ['fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum'];

  const before = await examined({ database: { url } });
  expect(checksWith('problem', before)).toEqual(settings);
  expect(before.get('postgres version')?.message).toMatch(/^PostgreSQL \d/);

  // A setting of the command line outranks alter system, so here it is that of the database.
  await admin.query('alter database outbox set synchronous_commit = on');
  await admin.query('create role shop login');
  await admin.query('alter role shop set synchronous_commit = off');
  const later = await examined({ database: { url } });
  expect(later.get('synchronous_commit')).toMatchObject({
    state: 'warning',
    message: expect.stringContaining('shop'),
  });
});

test('asynchronous commits that no client waits for are a warning that names what a crash repeats', {
  tags: ['duplicates-bounded'],
}, async (context) => {
  const { url } = await ownPostgres(context);
  const admin = openDatabase({ url, connections: 1 });
  context.onTestFinished(() => admin.close());
  const look = async () => (await examined({ database: { url } })).get('wal_writer_delay');

  expect(await look()).toEqual(
    expect.objectContaining({ state: 'ok', message: expect.stringContaining('0.6 s') }),
  );
  await admin.query(`alter system set wal_writer_delay = '10s'`);
  await admin.query('select pg_reload_conf()');
  const delay = async () =>
    (await admin.query<{ now: string }>(`select current_setting('wal_writer_delay') as now`))[0]?.now;
  await until(async () => (await delay()) === '10s');
  const late = await look();
  expect(late).toMatchObject({ state: 'warning', message: expect.stringContaining('30 s') });
  for (const statement of late?.next?.split('; ') ?? []) await admin.query(statement);
  await until(async () => (await look())?.state === 'ok');
});

test('causes that retain dead rows and log files are named with the statement that ends them', async (context) => {
  const { url } = await ownPostgres(context, careless.slice(4));
  const admin = openDatabase({ url, connections: 1 });
  context.onTestFinished(() => admin.close());
  const vacuum = { transactionMs: 300, deadRows: 50 };
  const look = () => examined({ database: { url } }, { vacuum });

  expect(checksWith('problem', await look())).toEqual([]);

  const open = await openTransaction(url);
  const [{ pid } = { pid: 0 }] = await open.query<{ pid: number }>(
    'select pg_backend_pid() as pid, pg_current_xact_id()',
  );
  await until(async () => (await look()).get('open transactions')?.state === 'warning');
  expect((await look()).get('open transactions')).toMatchObject({
    message: expect.stringMatching(new RegExp(`^Process ${pid} of the server .* \\(idle in transaction\\)`)),
    next: `select pg_terminate_backend(${pid}), as its own role or with pg_signal_backend`,
  });
  await open.rollback();

  await admin.query(
    `begin; update outbox.installation set served_since = null; prepare transaction 'it''s mine'`,
  );
  await until(async () => (await look()).get('prepared transactions')?.state === 'problem');
  expect((await look()).get('prepared transactions')?.next).toContain(`rollback prepared 'it''s mine'`);
  await admin.query(`rollback prepared 'it''s mine'`);

  await admin.query(`select pg_create_physical_replication_slot('gone', true)`);
  expect((await look()).get('replication slots')).toMatchObject({
    state: 'warning',
    next: expect.stringContaining(`pg_drop_replication_slot('gone')`),
  });
  await admin.query(`select pg_drop_replication_slot('gone')`);

  await admin.query('alter table outbox.lane set (autovacuum_enabled = false)');
  expect((await look()).get('dead rows')).toMatchObject({
    state: 'problem',
    next: 'alter table outbox.lane reset (autovacuum_enabled)',
  });
  await admin.query('alter table outbox.lane reset (autovacuum_enabled)');
  await admin.query(
    `insert into outbox.setting (name, value) select n::text, '' from generate_series(1, 200) n`,
  );
  await admin.query('delete from outbox.setting');
  await admin.query('select pg_stat_force_next_flush()');
  await until(async () => (await look()).get('dead rows')?.state === 'warning');
  expect((await look()).get('dead rows')?.next).toBe('vacuum (analyze) outbox.setting');
  expect(checksWith('problem', await look())).toEqual([]);
});

test('too few connections are a problem before the relay runs out of them', async (context) => {
  const { url } = await ownPostgres(context, ['max_connections=43']);
  const admin = openDatabase({ url, connections: 1 });
  context.onTestFinished(() => admin.close());
  const look = async (connections: number) =>
    (await examined({ database: { url, connections } })).get('connections');

  expect(await look(5)).toMatchObject({ state: 'ok' });
  expect(await look(60)).toMatchObject({
    state: 'problem',
    message: expect.stringContaining('a relay opens up to 61'),
    next: expect.stringContaining('max_connections'),
  });

  const open = await Promise.all(Array.from({ length: 36 }, () => openTransaction(url)));
  expect(await look(1)).toMatchObject({ state: 'warning' });
  await Promise.all(open.map((each) => each.rollback()));

  await admin.query('alter database outbox connection limit 6');
  const limited = await examined({ database: { url, connections: 5 } });
  expect(limited.get('connection limits')).toMatchObject({ state: 'problem' });
});

test('a clock that differs from that of the database is a warning that says by how much', async (context) => {
  const { url } = await ownPostgres(context);
  const clock = async (aheadMs: number) =>
    (await examined({ database: { url } }, { now: () => Date.now() + aheadMs })).get('database clock');

  expect(await clock(0)).toMatchObject({ state: 'ok' });
  expect(await clock(90_000)).toMatchObject({
    state: 'warning',
    message: expect.stringMatching(/^The database's clock is (?:89\.\d|90\.\d) s behind this machine's\./),
  });
  expect(await clock(-90_000)).toMatchObject({ message: expect.stringContaining('s ahead of this machine') });
});
