import { type DatabaseConfig, databaseOf } from '../../config/database-config.ts';
import { OutboxError } from '../../core/errors.ts';
import type { Database } from '../../store/database/database.ts';
import { openDatabase } from '../../store/database/pool.ts';
import { operatorSilence } from '../../store/database/silence.ts';
import { named, onceStarted } from '../../store/database/visit.ts';
import { requireMigrated } from '../../store/installation/migrate.ts';
import type { OnDatabase } from './operation-options.ts';

/** A lease occupies one connection while others read; the rest is for concurrent calls. */
const connections = 5;

interface Opened {
  readonly url: string;
  readonly database: Database;
  /** Rejects if the schema is missing. */
  readonly ready: () => Promise<void>;
}

/** The database of operations: opened by the first operation, which waits for a server that starts, and checked to be migrated. */
export function operationsDatabase(config: { readonly database?: DatabaseConfig }): {
  readonly on: OnDatabase;
  close(): Promise<void>;
} {
  let opened: Opened | undefined;
  return {
    on: async (work, check) => {
      check?.();
      const { url, database, ready } = (opened ??= open(config.database));
      return named(url, async () => {
        await ready();
        return work(database);
      });
    },
    async close() {
      await opened?.database.close();
    },
  };
}

/** @throws OutboxError `OUTBOX_CONFIG_MISSING`, `OUTBOX_CONFIG_INVALID` */
function open(config: DatabaseConfig | undefined): Opened {
  if (config === undefined) {
    throw new OutboxError(
      'OUTBOX_CONFIG_MISSING',
      'Operations need a database, but the configuration has none.',
      { details: { setting: 'database' } },
    );
  }
  const at = databaseOf(config);
  const database = openDatabase({ ...at, connections, silence: operatorSilence, ownNames: true });
  let waited = false;
  const ready = once(async () => {
    // Once: who asks a server that is away again and again has its answer at once.
    if (waited) return requireMigrated(database);
    waited = true;
    return onceStarted(() => requireMigrated(database));
  });
  return { url: at.url, database, ready };
}

/** Remembers success, not failure. */
function once(check: () => Promise<void>): () => Promise<void> {
  let passed = false;
  return async () => {
    if (!passed) await check();
    passed = true;
  };
}
