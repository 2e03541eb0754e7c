// @module-tag apart
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { SchemaFilter } from '@prisma/schema-engine-wasm/schema_engine_bg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  migrate,
  migrationOf,
  readMigrations,
  requireMigrated,
  scriptOf,
} from '../../../src/store/installation/migrate.ts';
import { packageRoot } from '../../../src/store/installation/package-root.ts';
import { createEmptyDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { outboxModels, PrismaProject, shopModels } from '../../support/fixtures/prisma-project.ts';
import { dumpSchema } from '../../support/fixtures/schema-dump.ts';

let made: TestDatabase;
beforeEach(async () => {
  made = await createEmptyDatabase();
});
afterEach(() => made.drop());

const nothing: SchemaFilter = { externalTables: [], externalEnums: [] };

/** Installs the outbox and returns its state. */
async function install(): Promise<string> {
  await migrate(made.database, await readMigrations());
  return dumpSchema(made.database);
}

/** All tables but partitions, and the enums, as `tables.external` and `enums.external` require them. */
async function everything(): Promise<SchemaFilter> {
  const [row] = await made.database.query<SchemaFilter>(
    `select array(select format('outbox.%s', c.relname) from pg_class c
         where c.relnamespace = 'outbox'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition) as "externalTables",
       array(select format('outbox.%s', t.typname) from pg_type t
         where t.typnamespace = 'outbox'::regnamespace and t.typtype = 'e') as "externalEnums"`,
  );
  return row ?? nothing;
}

/** What relays and consumers make as time passes. */
async function age(): Promise<void> {
  await made.database.query(
    `select outbox.mark_processed('g', '{a}', '{t}');
     update outbox.processed_epoch set begun_at = '2026-01-01';
     select outbox.roll_processed(1, 300, 0);
     create table outbox.message_history_202601 partition of outbox.message_history for values from ('2026-01-01') to ('2026-02-01')`,
  );
}

test('models of another schema are migrated, pushed and reset without any change of the outbox', async () => {
  const project = new PrismaProject(made.url, [shopModels()]);
  await install();
  await age();
  const before = await dumpSchema(made.database);

  expect(await project.migrateDev()).toEqual({ action: 'createMigration', applied: ['1_shop'], sql: [] });
  expect(await project.dbPush()).toMatchObject({ executedSteps: 0, warnings: [], unexecutable: [] });
  project.models = [shopModels('  stock Int?')];
  expect(await project.migrateDev()).toEqual({
    action: 'createMigration',
    applied: [],
    sql: ['ALTER TABLE "Product" ADD COLUMN     "stock" INTEGER;'],
  });
  expect(await project.dbPush()).toMatchObject({ executedSteps: 1, warnings: [], unexecutable: [] });
  await project.reset();

  expect(await dumpSchema(made.database)).toBe(before);
  await requireMigrated(made.database);
});

test('with "outbox" among its schemas Prisma asks for a reset, which deletes the outbox', async () => {
  const project = new PrismaProject(made.url, [shopModels('', ['public', 'outbox']), await outboxModels()]);
  await install();

  expect(await project.migrateDev()).toMatchObject({
    action: 'reset',
    reason: expect.stringMatching(/^Drift detected.*\[\+\] Added tables.*- message_history/s),
  });
  await project.reset();
  await expect(requireMigrated(made.database)).rejects.toMatchObject({ code: 'OUTBOX_MIGRATION_MISSING' });
});

test('with every table of the outbox declared external, Prisma leaves them alone until a new one is added', async () => {
  const models = [shopModels('', ['public', 'outbox']), await outboxModels()];
  const project = new PrismaProject(made.url, models);
  await project.migrateDev();
  await install();
  project.filters = await everything();
  await age();

  expect(await project.migrateDev()).toEqual({ action: 'createMigration', applied: [], sql: [] });
  expect(await project.dbPush()).toMatchObject({ executedSteps: 0, warnings: [], unexecutable: [] });

  const further = migrationOf(
    '20991231000000_further_outbox',
    '-- compatible: yes\ncreate table outbox.further (id integer);',
  );
  await migrate(made.database, [...(await readMigrations()), further]);
  expect(await project.migrateDev()).toMatchObject({ action: 'reset' });
});

test('the printed SQL can be a migration of Prisma', async () => {
  const project = new PrismaProject(made.url, [shopModels()]);
  for (const migration of await readMigrations())
    project.migrations.push([migration.name, scriptOf(migration)]);

  const applied = project.migrations.map(([name]) => name);
  expect(await project.migrateDev()).toEqual({ action: 'createMigration', applied, sql: [] });
  await requireMigrated(made.database);
  expect(await project.migrateDev()).toEqual({ action: 'createMigration', applied: [], sql: [] });
});

/** Runs Prisma's command in a folder with these schema files and no address of a database. */
async function prisma(args: readonly string[], files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'prisma-'));
  await symlink(path.join(packageRoot(), 'node_modules'), path.join(folder, 'node_modules'));
  await writeFile(
    path.join(folder, 'prisma.config.ts'),
    `import { defineConfig } from 'prisma/config';\nexport default defineConfig({ schema: 'models' });\n`,
  );
  await cp(path.join(packageRoot(), 'prisma', 'outbox.prisma'), path.join(folder, 'models', 'outbox.prisma'));
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, 'models', name), text);
  const command = path.join(packageRoot(), 'node_modules', 'prisma', 'build', 'index.js');
  const { stderr } = await promisify(execFile)(process.execPath, [command, ...args], {
    cwd: folder,
    // Any program will do: none of these commands comes so far.
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, NO_COLOR: '1' },
  }).catch((error: unknown) => ({
    stderr: error instanceof Error && 'stderr' in error ? error.stderr : error,
  }));
  await rm(folder, { recursive: true });
  return String(stderr);
}

test('with a configuration without an address, Prisma migrates nothing', async () => {
  const commands = [
    ['migrate', 'dev'],
    ['db', 'push'],
  ];
  const said = await Promise.all(commands.map((args) => prisma(args, {})));
  for (const text of said) expect(text).toContain('The datasource.url property is required');
});

test('Prisma refuses the models of the outbox in a schema with a datasource of its own', async () => {
  const schemas = ['public', 'outbox'];
  expect(await prisma(['validate'], { 'shop.prisma': shopModels('', schemas).content })).toContain(
    'The source "db" cannot be defined because a source with that name already exists.',
  );
});
