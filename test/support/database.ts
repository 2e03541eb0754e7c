import { createHash, randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import type { Database } from '../../src/store/database.ts';
import { migrate, type Migration, readMigrations } from '../../src/store/migrate.ts';
import { openDatabase } from '../../src/store/pool.ts';

/** A database that belongs to one test file. */
export interface TestDatabase {
  readonly url: string;
  readonly database: Database;
  /** Closes the pool and deletes the database, whoever is still connected. */
  drop(): Promise<void>;
}

/** Looked up or made by the first that needs it; what another file has made is there for good. */
let template: Promise<string> | undefined;

/** Serialises the makers of the template; the number has no meaning. */
const templateLockKey = 5_551_202_611;

/**
 * Makes a migrated database with an installation of its own, on the server of the test run.
 *
 * It is copied from a template that the first caller of a run migrates. Its pool has 10 connections.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const made = await makeDatabase(cloneOf(await (template ??= migratedTemplate())));
  // A copy refuses to deliver until it is adopted; this one has no past.
  await made.database.query(
    `update outbox.installation set id = gen_random_uuid(),
       database_oid = (select oid from pg_database where datname = current_database())`,
  );
  return made;
}

/** Makes a database without the schema of the outbox. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return makeDatabase('');
}

/** Copies a database as `create database … template` does. Every connection to the original is cut. */
export async function copyDatabase(url: string): Promise<TestDatabase> {
  await asAdmin((admin) =>
    admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [nameOf(url)]),
  );
  return makeDatabase(cloneOf(nameOf(url)));
}

/** Its files are copied as they are; page by page through the log takes twice the processor. */
function cloneOf(name: string): string {
  return `template ${name} strategy file_copy`;
}

async function makeDatabase(clause: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const url = urlOf(name);
  await asAdmin((admin) => admin.query(`create database ${name} ${clause}`));
  const database = openDatabase({ url });
  return {
    url,
    database,
    drop: async () => {
      await database.close();
      await asAdmin((admin) => admin.query(`drop database ${name} with (force)`));
    },
  };
}

/** The name of a database that has all migrations, made at most once per server and text of the migrations. */
async function migratedTemplate(): Promise<string> {
  const migrations = await readMigrations();
  const name = `template_${fingerprint(migrations)}`;
  await asAdmin(async (admin) => {
    if (await exists(admin, name)) return;
    await admin.query('select pg_advisory_lock($1)', [templateLockKey]);
    if (!(await exists(admin, name))) await makeTemplate(admin, name, migrations);
  });
  return name;
}

/** Built under another name, so that a run that dies in between leaves no half-made template. */
async function makeTemplate(admin: Database, name: string, migrations: readonly Migration[]): Promise<void> {
  const building = `${name}_building`;
  await admin.query(`drop database if exists ${building} with (force)`);
  await admin.query(`create database ${building}`);
  const database = openDatabase({ url: urlOf(building), connections: 1 });
  try {
    await migrate(database, migrations);
  } finally {
    await database.close();
  }
  await admin.query(`alter database ${building} rename to ${name}`);
}

/** One connection: session locks are held until it closes. */
async function asAdmin<Result>(work: (admin: Database) => Promise<Result>): Promise<Result> {
  const admin = openDatabase({ url: inject('databaseUrl'), connections: 1 });
  try {
    return await work(admin);
  } finally {
    await admin.close();
  }
}

async function exists(admin: Database, name: string): Promise<boolean> {
  const rows = await admin.query('select from pg_database where datname = $1', [name]);
  return rows.length > 0;
}

function fingerprint(migrations: readonly Migration[]): string {
  const hash = createHash('sha256');
  for (const { checksum } of migrations) hash.update(checksum);
  return hash.digest('hex').slice(0, 16);
}

function urlOf(name: string): string {
  const url = new URL(inject('databaseUrl'));
  url.pathname = `/${name}`;
  return url.href;
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}
