import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { OutboxError } from '../core/errors.ts';
import type { Database, Sql } from './database.ts';
import { packageRoot } from './package-root.ts';

/** One forward-only step of the schema, as a folder under `prisma/migrations`. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the text. */
  readonly checksum: string;
}

export interface MigrationState {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
}

/** Serialises concurrent runners; the number has no meaning. */
const lockKey = 7_021_964_731;

/** The migrations of this version, in order. */
export async function readMigrations(): Promise<readonly Migration[]> {
  const folder = path.join(packageRoot(), 'prisma', 'migrations');
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isDirectory() && entry.name.endsWith('_outbox'))
    .map((entry) => entry.name);
  return Promise.all(
    names.toSorted().map(async (name) => {
      const sql = await readFile(path.join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/**
 * Applies what is missing, in one transaction per run. Several runners may start at once: one works, the others wait
 * and find nothing to do.
 *
 * @throws OutboxError `OUTBOX_MIGRATION_UNKNOWN` when the database is newer than this version, and
 * `OUTBOX_MIGRATION_CHANGED` when an applied file has another text now. Nothing is written then.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  return database.transaction(async (sql) => {
    await sql.query('select pg_advisory_xact_lock($1)', [lockKey]);
    const { pending } = await checkMigrations(sql, migrations);
    for (const migration of migrations.filter(({ name }) => pending.includes(name))) {
      await sql.query(migration.sql);
      await sql.query(
        'create table if not exists outbox.migration (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
      );
      await sql.query('insert into outbox.migration (name, checksum) values ($1, $2)', [
        migration.name,
        migration.checksum,
      ]);
    }
    return pending;
  });
}

/** Compares the database with the migrations of this version, and writes nothing. */
export async function checkMigrations(sql: Sql, migrations: readonly Migration[]): Promise<MigrationState> {
  const applied = await readApplied(sql);
  for (const { name, checksum } of applied) {
    const known = migrations.find((migration) => migration.name === name);
    if (known === undefined) {
      throw new OutboxError(
        'OUTBOX_MIGRATION_UNKNOWN',
        `The database has the migration "${name}", which this version does not know.`,
      );
    }
    if (known.checksum !== checksum) {
      throw new OutboxError(
        'OUTBOX_MIGRATION_CHANGED',
        `The migration "${name}" was changed after it had been applied.`,
      );
    }
  }
  const names = applied.map(({ name }) => name);
  return {
    applied: names,
    pending: migrations.map(({ name }) => name).filter((name) => !names.includes(name)),
  };
}

/** @throws OutboxError `OUTBOX_MIGRATION_MISSING` when the database is older than this version. */
export async function requireMigrated(sql: Sql): Promise<void> {
  const all = await readMigrations();
  const { pending } = await checkMigrations(sql, all);
  if (pending.length > 0) {
    throw new OutboxError(
      'OUTBOX_MIGRATION_MISSING',
      pending.length === all.length
        ? 'The database has no schema of the outbox yet.'
        : `The database lacks ${pending.length === 1 ? 'the migration' : `${pending.length} migrations, the first is`} ${pending[0]}.`,
      { details: { pending } },
    );
  }
}

async function readApplied(
  sql: Sql,
): Promise<readonly { readonly name: string; readonly checksum: string }[]> {
  const [exists] = await sql.query<{ there: boolean }>(
    `select to_regclass('outbox.migration') is not null as there`,
  );
  return exists?.there ? sql.query('select name, checksum from outbox.migration order by name') : [];
}
