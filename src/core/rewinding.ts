/** Where a group continues in a partition, before and after it was set back. */
export interface RewoundPartition {
  /** The partition, from 0. */
  readonly partition: number;
  /** The first offset that the group had not committed. */
  readonly before: string;
  /** The first one from now on; the same if that was not later than the time. */
  readonly after: string;
}

/** Which group goes back where, and to which time. */
export interface Rewinding {
  /** Name of the group. */
  readonly group: string;
  /** Where its messages arrive. */
  readonly address: string;
  /** Messages that the broker stored at this time or later are delivered again. */
  readonly to: Date;
  /** True: changes nothing, and answers what would be. */
  readonly dryRun: boolean;
}
