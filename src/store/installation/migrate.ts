import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { OutboxError } from '../../core/errors.ts';
import { flagCell, readRow, readRows, textCell } from '../database/answers.ts';
import type { Database, Sql } from '../database/database.ts';
import { emptied } from './emptied.ts';
import { packageRoot } from './package-root.ts';

/** One forward-only step of the schema, as a folder under `prisma/migrations`. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the text. */
  readonly checksum: string;
  /** True if older programs work with a database that has it: the line `-- compatible: yes` of the text. */
  readonly compatible: boolean;
}

export interface MigrationState {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Those of `applied` that are from a later version, but compatible with this one. */
  readonly later: readonly string[];
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
    names
      .toSorted()
      .map(async (name) =>
        migrationOf(name, await readFile(path.join(folder, name, 'migration.sql'), 'utf8')),
      ),
  );
}

/** The migration of this name and text. The text must say whether it is compatible. */
export function migrationOf(name: string, sql: string): Migration {
  const [, answer] = /^-- compatible: (yes|no)$/m.exec(sql) ?? [];
  if (answer === undefined)
    throw new Error(`The migration ${name} has no line "-- compatible: yes" or "no".`);
  const checksum = createHash('sha256').update(sql).digest('hex');
  return { name, sql, checksum, compatible: answer === 'yes' };
}

/** The migration with its entry in `outbox.migration`, to be run in one transaction by any tool. */
export function scriptOf({ name, sql, checksum, compatible }: Migration): string {
  return `${sql.trimEnd()}

insert into outbox.migration (name, checksum, compatible) values ('${name}', '${checksum}', ${compatible});
`;
}

/**
 * Applies missing migrations, in one transaction per run. Several runners may start at once: one works, the others wait and
 * find nothing to do. A database that a later, compatible version has migrated is left as it is.
 *
 * @throws OutboxError `OUTBOX_MIGRATION_UNKNOWN` if the database has migrations of a later version that this one cannot work
 * with, or after which it would have to apply its own; `OUTBOX_MIGRATION_CHANGED` if the text of an applied file has changed;
 * `OUTBOX_SCHEMA_EMPTIED`; `OUTBOX_ROW_SECURITY_ACTIVE`; `OUTBOX_SERVER_UNFIT` unless the database is in UTF8. Then nothing is
 * written.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  return database.transaction(async (sql) => {
    await sql.query('select pg_advisory_xact_lock($1)', [lockKey]);
    const { pending, later } = await checkMigrations(sql, migrations);
    if (pending[0] !== undefined && later[0] !== undefined) {
      throw new OutboxError(
        'OUTBOX_MIGRATION_UNKNOWN',
        `The migration "${pending[0]}" is missing, but the database already has "${later[0]}", which this version does not know.`,
      );
    }
    if (pending.length > 0) await requireUnicode(sql);
    for (const migration of migrations.filter(({ name }) => pending.includes(name))) {
      await sql.query(scriptOf(migration));
    }
    return pending;
  });
}

/** Another encoding cannot keep every payload, nor the comments of a migration: its server would name bytes that nobody wrote. */
async function requireUnicode(sql: Sql): Promise<void> {
  const rows = await sql.query<object>(`select current_setting('server_encoding') as encoding`);
  const { encoding } = readRow(rows, { encoding: textCell });
  if (encoding === 'UTF8') return;
  throw new OutboxError(
    'OUTBOX_SERVER_UNFIT',
    `The database has the encoding ${encoding}; the outbox needs one in UTF8, as of \`create database … encoding 'UTF8' template template0\`.`,
    { details: { encoding } },
  );
}

/**
 * Compares the database with the migrations of this version, and writes nothing.
 *
 * @throws OutboxError as {@link migrate}
 */
export async function checkMigrations(sql: Sql, migrations: readonly Migration[]): Promise<MigrationState> {
  const applied = await readApplied(sql);
  const unknown = applied.filter(({ name }) => !migrations.some((known) => known.name === name));
  const refusing = unknown.find(({ compatible }) => !compatible);
  if (refusing !== undefined) {
    throw new OutboxError(
      'OUTBOX_MIGRATION_UNKNOWN',
      `The database has the migration "${refusing.name}", which this version does not know and cannot work with.`,
    );
  }
  const changed = migrations.find(({ name, checksum }) =>
    applied.some((row) => row.name === name && row.checksum !== checksum),
  );
  if (changed !== undefined) {
    throw new OutboxError(
      'OUTBOX_MIGRATION_CHANGED',
      `The migration "${changed.name}" was changed after it had been applied.`,
    );
  }
  const names = applied.map(({ name }) => name);
  return {
    applied: names,
    pending: migrations.map(({ name }) => name).filter((name) => !names.includes(name)),
    later: unknown.map(({ name }) => name),
  };
}

/**
 * Passes if the database has every migration of this version, and of later versions only compatible ones.
 *
 * @param known the migrations of this version. Default: those of the package
 * @throws OutboxError `OUTBOX_MIGRATION_MISSING` if the database is older than this version; `OUTBOX_MIGRATION_UNKNOWN` and
 * `OUTBOX_MIGRATION_CHANGED` as {@link migrate}
 */
export async function requireMigrated(sql: Sql, known?: readonly Migration[]): Promise<void> {
  const all = known ?? (await readMigrations());
  const { pending } = await checkMigrations(sql, all);
  if (pending.length > 0) {
    throw new OutboxError(
      'OUTBOX_MIGRATION_MISSING',
      pending.length === all.length
        ? 'The database has no outbox schema yet.'
        : `The database lacks ${pending.length === 1 ? 'the migration' : `${pending.length} migrations, the first is`} ${pending[0]}.`,
      { details: { pending } },
    );
  }
}

interface AppliedMigration {
  readonly name: string;
  readonly checksum: string;
  readonly compatible: boolean;
}

async function readApplied(sql: Sql): Promise<readonly AppliedMigration[]> {
  const exists = await sql.query<object>(`select to_regclass('outbox.migration') is not null as there`);
  if (!readRow(exists, { there: flagCell }).there) return [];
  const rows = await sql.query<object>(
    'select name, checksum, compatible from outbox.migration order by name',
  );
  if (rows.length === 0) throw await emptied(sql, 'outbox.migration');
  return readRows(rows, { name: textCell, checksum: textCell, compatible: flagCell });
}
