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
 * @throws OutboxError `OUTBOX_MIGRATION_UNKNOWN`, `OUTBOX_MIGRATION_CHANGED`, `OUTBOX_SCHEMA_EMPTIED`,
 * `OUTBOX_SERVER_UNFIT` for another encoding than UTF8, or `OUTBOX_PRIVILEGE_MISSING`; then nothing is written
 */
export async function applyMigrations(at: DatabaseAddress): Promise<readonly string[]> {
  return visitDatabase(at, async (database) => migrate(database, await readMigrations()));
}

/** Which migrations are applied and which are missing. Writes nothing. */
export async function migrationState(at: DatabaseAddress): Promise<MigrationState> {
  return visitDatabase(at, async (database) => checkMigrations(database, await readMigrations()));
}
