import type { Database } from './database.ts';
import type { DatabaseAddress } from './database-address.ts';
import { databaseFailure } from './database-failure.ts';
import { openDatabase } from './pool.ts';
import { schemaMissing } from './schema-missing.ts';
import { operatorSilence } from './silence.ts';

/**
 * Opens a database for one piece of work, over one connection.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`, `OUTBOX_SERVER_REFUSED` or `OUTBOX_TLS_FAILED` naming the server,
 * `OUTBOX_MIGRATION_MISSING`, and what `work` throws
 */
export async function visitDatabase<Result>(
  address: DatabaseAddress,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase({ ...address, connections: 1, silence: operatorSilence, ownNames: true });
  try {
    return await named(address.url, () => work(database));
  } finally {
    await database.close();
  }
}

/** Runs `work`; throws an error that names the server if the connection fails, or says that the schema of the outbox is missing. */
export async function named<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw databaseFailure(url, error) ?? schemaMissing(error) ?? error;
  }
}
