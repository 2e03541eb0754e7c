import { type DatabaseConfig, databaseOf } from '../../config/database-config.ts';
import { type OperatorDatabase, operatorDatabase } from '../../store/database/visit.ts';
import { tookTooLong, withLimits } from '../../store/database/with-limits.ts';

/** Each statement that proves a caller reads a row or two. */
const usualMs = 5_000;

/**
 * The database in which the HTTP API keeps how callers prove themselves. Connections are opened when first needed, and no request
 * waits for a lock for ever: every call rejects with `OUTBOX_SERVER_UNAVAILABLE` when a statement takes too long.
 */
export function proofDatabase(config: DatabaseConfig, statementMs = usualMs): OperatorDatabase {
  let opened: OperatorDatabase | undefined;
  return {
    on: async (work) => {
      opened ??= operatorDatabase(databaseOf(config));
      const limits = { lockMs: statementMs, statementMs };
      return opened
        .on((database) => work(withLimits(database, limits)))
        .catch((error: unknown) => {
          throw tookTooLong(error) ?? error;
        });
    },
    close: async () => opened?.close(),
  };
}
