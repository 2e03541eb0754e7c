/** On whose behalf something is done. Goes into the audit, in the transaction of what is done. */
export interface Author {
  /** Who does it: a person, or a tool. */
  readonly actor: string;
  readonly reason?: string;
  /** The bulk operation that it is part of. */
  readonly bulkId?: string;
}
