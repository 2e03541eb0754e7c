/** On whose behalf something is done. Recorded in the audit, in the same transaction. */
export interface Author {
  /** Who does it: a person, or a tool. */
  readonly actor: string;
  readonly reason?: string;
  /** The bulk operation that it is part of. */
  readonly bulkId?: string;
}
