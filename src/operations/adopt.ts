import type { Database } from '../store/database/database.ts';
import { type Adoption, adoptDatabase } from '../store/installation/adopt.ts';
import { requireMigrated } from '../store/installation/migrate.ts';

export type { Adoption };

/** Who adopts a database, and what of its original. */
export interface AdoptOptions {
  /** Who does it, for the audit. */
  readonly actor: string;
  /**
   * True for a copy whose original lives on, a staging system for example: the copy gets an id of its own, and its
   * workflows never meet those of the original. @defaultValue false: the original is gone, and the copy takes its place
   */
  readonly newInstallation?: boolean | undefined;
}

/**
 * Lets relays deliver from a database that was restored from a dump, or moved by a logical upgrade or replication.
 *
 * Nothing is lost. What the original published after the dump is published again, and at least what it had in hand, a
 * batch per lane at most, may be: stop its relays before the dump. A copy beside a living original holds the same
 * undelivered messages and delivers them too, so give it other brokers.
 *
 * @throws OutboxError `OUTBOX_MIGRATION_MISSING`, `OUTBOX_STILL_DELIVERING`
 */
export async function adopt(database: Database, options: AdoptOptions): Promise<Adoption> {
  await requireMigrated(database);
  return adoptDatabase(database, options.newInstallation ?? false, options.actor);
}
