import { afterEach, expect, test } from 'vitest';
import { type MigrateFlags, migrateCommand } from '../../../src/cli/migrate-command.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { readInstallation } from '../../../src/store/installation/installation.ts';
import {
  checkMigrations,
  type Migration,
  migrate,
  migrationOf,
  readMigrations,
  requireMigrated,
} from '../../../src/store/installation/migrate.ts';
import {
  copyDatabase,
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../support/fixtures/database.ts';
import { dumpSchema } from '../../support/fixtures/schema-dump.ts';
import { written } from '../../support/fixtures/written.ts';

const opened: TestDatabase[] = [];

afterEach(async () => {
  for (const made of opened.splice(0)) await made.drop();
});

async function open(making: Promise<TestDatabase>): Promise<TestDatabase> {
  const made = await making;
  opened.push(made);
  return made;
}

const printing: MigrateFlags = {
  print: true,
  check: false,
  topics: undefined,
  create: false,
  database: () => Promise.reject(new Error('Printing asks for no database.')),
};
const further = migrationOf(
  '20991231000000_further_outbox',
  '-- compatible: no\ncreate table outbox.further (id integer);',
);
const compatible = migrationOf(
  '20991231000001_compatible_outbox',
  '-- compatible: yes\nalter table outbox.setting add column unit text;',
);

test('a fresh database gets every migration once, with its checksum', async () => {
  const { database } = await open(createEmptyDatabase());
  const migrations = await readMigrations();

  expect(await checkMigrations(database, migrations)).toEqual({
    applied: [],
    pending: migrations.map(({ name }) => name),
    later: [],
  });
  await expect(requireMigrated(database)).rejects.toMatchObject({
    code: 'OUTBOX_MIGRATION_MISSING',
    message: 'The database has no outbox schema yet.',
    details: { pending: migrations.map(({ name }) => name) },
  });

  expect(await migrate(database, migrations)).toEqual(migrations.map(({ name }) => name));
  const rows = await database.query('select name, checksum, compatible from outbox.migration order by name');
  expect(rows).toEqual(
    migrations.map(({ name, checksum, compatible: is }) => ({ name, checksum, compatible: is })),
  );
  await requireMigrated(database);
});

test('the first of many missing migrations is named', async () => {
  const { database } = await open(createTestDatabase());
  const known = [...(await readMigrations()), further, compatible];
  await expect(requireMigrated(database, known)).rejects.toMatchObject({
    message: `The database lacks 2 migrations, the first is ${further.name}.`,
    details: { pending: [further.name, compatible.name] },
  });
});

test('a second run changes nothing', async () => {
  const { database } = await open(createEmptyDatabase());
  const migrations = await readMigrations();
  await migrate(database, migrations);
  const before = await database.query('select * from outbox.migration');

  expect(await migrate(database, migrations)).toEqual([]);
  expect(await database.query('select * from outbox.migration')).toEqual(before);
});

test('of five concurrent runners one applies the migrations and four find nothing to do', async () => {
  const { database } = await open(createEmptyDatabase());
  const migrations = await readMigrations();

  const answers = await Promise.all(Array.from({ length: 5 }, () => migrate(database, migrations)));

  expect(answers.filter((applied) => applied.length === migrations.length)).toHaveLength(1);
  expect(answers.filter((applied) => applied.length === 0)).toHaveLength(4);
});

test('only missing migrations are applied', async () => {
  const { database } = await open(createTestDatabase());
  const migrations = [...(await readMigrations()), further];

  expect((await checkMigrations(database, migrations)).pending).toEqual([further.name]);
  expect(await migrate(database, migrations)).toEqual([further.name]);
  await database.query('select id from outbox.further');
});

test('checking writes nothing, not even the table of migrations', async () => {
  const { database } = await open(createEmptyDatabase());
  await checkMigrations(database, await readMigrations());

  const schemas = await database.query(`select from pg_namespace where nspname = 'outbox'`);
  expect(schemas).toEqual([]);
});

test('a database with a migration unknown to this version is refused and left unchanged', async () => {
  const { database } = await open(createTestDatabase());
  await migrate(database, [...(await readMigrations()), further, compatible]);
  const refusal = {
    code: 'OUTBOX_MIGRATION_UNKNOWN',
    message: `The database has the migration "${further.name}", which this version does not know and cannot work with.`,
  };

  await expect(checkMigrations(database, await readMigrations())).rejects.toMatchObject(refusal);
  await expect(migrate(database, await readMigrations())).rejects.toMatchObject(refusal);
  await expect(requireMigrated(database)).rejects.toMatchObject(refusal);
});

test('compatible migrations of a later version are accepted, and nothing is applied', async () => {
  const { database } = await open(createTestDatabase());
  const own = await readMigrations();
  await migrate(database, [...own, compatible]);

  await requireMigrated(database);
  expect(await checkMigrations(database, own)).toEqual({
    applied: [...own, compatible].map(({ name }) => name),
    pending: [],
    later: [compatible.name],
  });
  expect(await migrate(database, own)).toEqual([]);
});

test('nothing is applied after a migration unknown to this version', async () => {
  const { database } = await open(createTestDatabase());
  const own = await readMigrations();
  await migrate(database, [...own, compatible]);

  await expect(migrate(database, [...own, further])).rejects.toMatchObject({
    code: 'OUTBOX_MIGRATION_UNKNOWN',
    message: `The migration "${further.name}" is missing, but the database already has "${compatible.name}", which this version does not know.`,
  });
  await expect(requireMigrated(database, [...own, further])).rejects.toMatchObject({
    code: 'OUTBOX_MIGRATION_MISSING',
  });
  const made = await database.query(`select to_regclass('outbox.further') as made`);
  expect(made).toEqual([{ made: null }]);
});

test('a migration without a line about its compatibility is an internal error', () => {
  expect(() => migrationOf('20991231000000_further_outbox', '-- Compatible: perhaps\n')).toThrow(
    'The migration 20991231000000_further_outbox has no line "-- compatible: yes" or "no".',
  );
});

test('the printed SQL makes a database that relays and consumers accept', async () => {
  const { database } = await open(createEmptyDatabase());
  const printed = await written((output) => migrateCommand(printing, output));
  await database.query(printed.stdout);

  await requireMigrated(database);
  const columns = 'select name, checksum, compatible from outbox.migration';
  const migrated = await open(createTestDatabase());
  expect(await database.query(columns)).toEqual(await migrated.database.query(columns));
  expect(await dumpSchema(database)).toBe(await dumpSchema(migrated.database));
  expect(await migrate(database, await readMigrations())).toEqual([]);
});

test('a migration whose text changed after it was applied is refused, and nothing more is applied', async () => {
  const { database } = await open(createTestDatabase());
  const changed: readonly Migration[] = (await readMigrations()).map((migration) => ({
    ...migration,
    checksum: 'another',
  }));
  const refusal = {
    code: 'OUTBOX_MIGRATION_CHANGED',
    message: expect.stringContaining(changed[0]?.name ?? ''),
  };

  await expect(checkMigrations(database, changed)).rejects.toMatchObject(refusal);
  await expect(migrate(database, [...changed, further])).rejects.toMatchObject(refusal);
  const made = await database.query(`select to_regclass('outbox.further') as made`);
  expect(made).toEqual([{ made: null }]);
});

test('a failed migration leaves nothing of itself or of those before it', async () => {
  const { database } = await open(createEmptyDatabase());
  const failing = migrationOf(
    '20991231000001_failing_outbox',
    '-- compatible: yes\ncreate table outbox.half (id integer); select 1 / 0;',
  );

  await expect(migrate(database, [...(await readMigrations()), failing])).rejects.toMatchObject({
    code: '22012',
  });
  expect(await database.query(`select from pg_namespace where nspname = 'outbox'`)).toEqual([]);
  expect(await migrate(database, await readMigrations())).toHaveLength((await readMigrations()).length);
});

test('each database has an installation id of its own', async () => {
  const first = await open(createTestDatabase());
  const second = await open(createTestDatabase());

  const id = await readInstallation(first.database);
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(await readInstallation(first.database)).toBe(id);
  expect(await readInstallation(second.database)).not.toBe(id);
});

test('a copy of a database is refused, and the original keeps working', async () => {
  const { url, database } = await open(createTestDatabase());
  const id = await readInstallation(database);
  const copy = await open(copyDatabase(url));

  await expect(readInstallation(copy.database)).rejects.toMatchObject({
    code: 'OUTBOX_INSTALLATION_MOVED',
    details: { installation: id },
  });
  const original = openDatabase({ url, connections: 1 });
  const answer = await readInstallation(original);
  await original.close();
  expect(answer).toBe(id);
});

test('a database that claims to be of another cluster is refused', async () => {
  const { database } = await open(createTestDatabase());
  await database.query(`update outbox.installation set system_identifier = '1'`);

  await expect(readInstallation(database)).rejects.toMatchObject({ code: 'OUTBOX_INSTALLATION_MOVED' });
});
