import { OutboxError } from '../core/errors.ts';
import type { DatabaseAddress } from '../store/database/database-address.ts';
import { visitDatabase } from '../store/database/visit.ts';
import {
  checkMigrations,
  type Migration,
  type MigrationState,
  migrate,
  readMigrations,
  scriptOf,
} from '../store/installation/migrate.ts';

/**
 * The SQL for your own migration tool, to be run in this order: each migration of this version, together with its entry in
 * `outbox.migration`, so that relays and consumers find the database up to date afterwards.
 */
export async function migrationScripts(): Promise<readonly Migration[]> {
  const migrations = await readMigrations();
  return migrations.map((migration) => ({ ...migration, sql: scriptOf(migration) }));
}

/**
 * Brings the schema of a database up to this version; concurrent calls are safe.
 *
 * @returns the names of the migrations that were applied now
 * @throws OutboxError `OUTBOX_MIGRATION_UNKNOWN`, `OUTBOX_MIGRATION_CHANGED`, or `OUTBOX_CONFIG_INVALID` if the
 * database user lacks the right; then nothing is written
 */
export async function applyMigrations(at: DatabaseAddress): Promise<readonly string[]> {
  try {
    return await visitDatabase(at, async (database) => migrate(database, await readMigrations()));
  } catch (error) {
    throw refusedRights(error) ?? error;
  }
}

/** Which migrations are applied and which are missing. Writes nothing. */
export async function migrationState(at: DatabaseAddress): Promise<MigrationState> {
  return visitDatabase(at, async (database) => checkMigrations(database, await readMigrations()));
}

function refusedRights(error: unknown): OutboxError | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== '42501') return undefined;
  return new OutboxError('OUTBOX_CONFIG_INVALID', `The database user may not do this: ${error.message}.`, {
    cause: error,
  });
}
