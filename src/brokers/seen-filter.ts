/**
 * A fast first answer to "was this message processed already?", so that most duplicates cost no transaction.
 *
 * The database decides; a filter only saves work. So it may forget at any time, but must never say that an id was
 * processed before the effects of its message are committed: if the mark were set before the work, a message would be
 * lost when its worker dies.
 *
 * A filter does not notice that a database is restored from a backup, and would continue to drop messages whose effects
 * the restore has undone. It must then be emptied, or given another epoch.
 */
export interface SeenFilter {
  /** Those of these ids that are known to be processed. Resolves within a bounded time; never rejects. */
  seen(group: string, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Notes ids, after their effects are committed. Resolves within a bounded time; never rejects; may drop ids. */
  add(group: string, ids: readonly string[]): Promise<void>;
  /**
   * A name for the history of the database, to be changed after a restore. Needed if the database does not show a restore by
   * itself, as on Aurora. @defaultValue none
   */
  readonly epoch?: string | undefined;
  /** Frees its resources. Later calls have no effect: no id is seen any more. Safe to repeat. */
  close(): Promise<void>;
}
