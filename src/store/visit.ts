import type { Database } from './database.ts';
import { databaseFailure } from './database-failure.ts';
import { openDatabase } from './pool.ts';
import { operatorSilence } from './silence.ts';

/**
 * Opens a database for one piece of work, over one connection.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE` or `OUTBOX_SERVER_REFUSED` naming the server, and what `work` throws
 */
export async function visitDatabase<Result>(
  url: string,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase({ url, connections: 1, silence: operatorSilence });
  try {
    return await named(url, () => work(database));
  } finally {
    await database.close();
  }
}

/** Runs `work`; of a failed connection it throws what names the server. */
export async function named<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw databaseFailure(url, error) ?? error;
  }
}
