import { patiently } from '../../core/patience.ts';
import { requireMigrated } from '../installation/migrate.ts';
import type { Database } from './database.ts';
import type { DatabaseAddress } from './database-address.ts';
import { databaseFailure, mayBeStarting, saysStarting } from './database-failure.ts';
import { openDatabase } from './pool.ts';
import { operatorSilence } from './silence.ts';
import { statementFailure } from './statement-failure.ts';

/** How long a command waits where nothing answers, which may start as well; a person waits for the answer. */
const awayMs = 5_000;
/** How long it waits for a server that says that it starts. */
const startingMs = 60_000;

/**
 * Opens a database for one piece of work, over one connection. While the server starts, the work is repeated from the
 * beginning.
 *
 * @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`, `OUTBOX_SERVER_REFUSED` or `OUTBOX_TLS_FAILED` naming the server,
 * `OUTBOX_MIGRATION_MISSING`, `OUTBOX_PRIVILEGE_MISSING`, and what `work` throws
 */
export async function visitDatabase<Result>(
  address: DatabaseAddress,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase({ ...address, connections: 1, silence: operatorSilence, ownNames: true });
  try {
    return await named(address.url, () => onceStarted(() => work(database)));
  } finally {
    await database.close();
  }
}

/** A lease occupies one connection while others read; the rest is for concurrent calls. */
const connections = 5;

/** The database of an installation, for an operator who may call again. */
export interface OperatorDatabase {
  /** Runs `work` on the migrated database. @throws OutboxError as {@link visitDatabase} */
  on<Result>(work: (database: Database) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Opens a database whose first call waits for a server that starts, and checks that it is migrated. */
export function operatorDatabase(address: DatabaseAddress): OperatorDatabase {
  const database = openDatabase({ ...address, connections, silence: operatorSilence, ownNames: true });
  const ask = () => requireMigrated(database);
  let [waited, migrated] = [false, false];
  return {
    on: (work) =>
      named(address.url, async () => {
        // Once: who asks a server that is away again and again has its answer at once.
        const check = waited ? ask : () => onceStarted(ask);
        waited = true;
        if (!migrated) await check();
        migrated = true;
        return work(database);
      }),
    close: () => database.close(),
  };
}

/** Repeats `attempt` while the server says that it starts, and for up to five seconds where it may start, or start again. */
function onceStarted<Result>(attempt: () => Promise<Result>): Promise<Result> {
  let heardAt = performance.now();
  return patiently(attempt, {
    signal: new AbortController().signal,
    withinMs: startingMs,
    passing: (error) => {
      if (saysStarting(error)) heardAt = performance.now();
      return mayBeStarting(error) && performance.now() - heardAt < awayMs;
    },
    waiting: () => undefined,
  });
}

/** Runs `work`; throws an error that names the server if the connection fails, or says what the database lacks. */
export async function named<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw databaseFailure(url, error) ?? statementFailure(error) ?? error;
  }
}
