import type { Database } from '../../store/database/database.ts';
import type { LastHandled } from '../../store/inbox/last-handled.ts';
import { type Adoption, adoptDatabase } from '../../store/installation/adopt.ts';
import { requireMigrated } from '../../store/installation/migrate.ts';

export type { Adoption, LastHandled };

/** Options of an adoption. */
export interface AdoptOptions {
  /** Who does it, for the audit. */
  readonly actor: string;
  /**
   * True for a copy whose original stays in use, for example a staging system: the copy gets an id of its own, so that its
   * workflows never collide with those of the original. @defaultValue false: the original is gone, and the copy replaces it
   */
  readonly newInstallation?: boolean | undefined;
}

/**
 * Lets relays deliver from a database that was restored from a dump, or moved by a logical upgrade or replication.
 *
 * No message is lost. Messages that the original published after the dump are published again, and so may be those that it
 * had in hand, at most one batch per lane: stop its relays before the dump. A copy whose original stays in use has the same
 * undelivered messages and delivers them, too, so give it other brokers.
 *
 * Brokers do not deliver again what a consumer group has passed, also if its effects and ids were committed after the dump: stop the
 * consumers of such groups, and set the groups back with `inbox.rewind`.
 *
 * @throws OutboxError `OUTBOX_MIGRATION_MISSING`, `OUTBOX_STILL_DELIVERING`
 */
export async function adopt(database: Database, options: AdoptOptions): Promise<Adoption> {
  await requireMigrated(database);
  return adoptDatabase(database, options.newInstallation ?? false, options.actor);
}
