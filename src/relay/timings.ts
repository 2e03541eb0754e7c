/** The relay's own times, in milliseconds. Tests shorten them; everybody else leaves them. */
export interface RelayTimings {
  /** Longest run of a drain before it hands the lane back. */
  readonly runMs: number;
  /** How long a drain waits for more before it calls its lane quiet. */
  readonly lingerMs: number;
  /** Between looks at the outbox, while messages come and after. */
  readonly hotLookMs: number;
  readonly idleLookMs: number;
  /** Between checks of everything, whether or not a look saw news. */
  readonly checkMs: number;
  /** Between probes of a topic on hold. */
  readonly probeMs: number;
}

export const defaultTimings: RelayTimings = {
  runMs: 60_000,
  lingerMs: 5_000,
  hotLookMs: 10,
  idleLookMs: 100,
  checkMs: 1_000,
  probeMs: 1_000,
};

/** Messages and bytes of one batch. */
export interface BatchLimits {
  /** @defaultValue 2,000 */
  readonly messages: number;
  /** Payload bytes together, so that a batch of large messages fits in memory. @defaultValue 16 MiB */
  readonly bytes: number;
}

export const defaultBatchLimits: BatchLimits = { messages: 2_000, bytes: 16 * 1024 * 1024 };

/** How often the maintenance of an installation runs, in milliseconds; at least a second, rounded to seconds. */
export interface MaintenanceIntervals {
  /** @defaultValue 60,000 */
  readonly reconcileEveryMs: number;
  /** @defaultValue 300,000 */
  readonly archiveEveryMs: number;
  /** How often a relay looks whether the schedules are there and as they should be. @defaultValue 60,000 */
  readonly checkEveryMs: number;
}

export const defaultIntervals: MaintenanceIntervals = {
  reconcileEveryMs: 60_000,
  archiveEveryMs: 5 * 60_000,
  checkEveryMs: 60_000,
};
