/** How often maintenance of an installation runs, in milliseconds; at least a second, rounded to seconds. */
export interface MaintenanceIntervals {
  /** Between comparisons of rows with workflows. */
  readonly reconcileIntervalMs: number;
  /** Between runs that move finished messages to the history. */
  readonly archiveIntervalMs: number;
  /** Between checks that the schedules of these two exist and are up to date. */
  readonly scheduleCheckIntervalMs: number;
}

/** The relay's times, in milliseconds. Users set those of looks; tests shorten the others, too. */
export interface RelayTimings extends MaintenanceIntervals {
  /**
   * Longest run of a drain before it hands the lane back, less than the 90 s that its activity may take; each one takes between
   * half of it and all of it, so that lanes do not end together.
   */
  readonly drainTimeoutMs: number;
  /** How long a lane must be empty before its drain calls it quiet. */
  readonly laneIdleTimeoutMs: number;
  /** Between looks at the outbox, while messages arrive and otherwise. */
  readonly lookIntervalMs: number;
  readonly idleLookIntervalMs: number;
  /** Between full checks that every lane with work and every waiting message has its workflow, whether or not a look found news. */
  readonly checkIntervalMs: number;
  /** Between probes of a topic on hold; a hold ends that long after its cause. */
  readonly probeIntervalMs: number;
  /**
   * A transport that has not settled a call within this time is asked to stop; as long after that, the lane is given up. Far
   * above the time limits of transports, which end what is slow.
   */
  readonly stuckAfterMs: number;
}

export const defaultTimings: RelayTimings = {
  drainTimeoutMs: 60_000,
  laneIdleTimeoutMs: 5_000,
  lookIntervalMs: 10,
  idleLookIntervalMs: 100,
  checkIntervalMs: 1_000,
  probeIntervalMs: 1_000,
  stuckAfterMs: 60_000,
  reconcileIntervalMs: 60_000,
  archiveIntervalMs: 5 * 60_000,
  scheduleCheckIntervalMs: 60_000,
};

/** Messages and bytes of one batch. */
export interface BatchLimits {
  /** @defaultValue 2,000 */
  readonly messages: number;
  /** Bytes of payloads and headers together, so that a batch of large messages fits in memory. @defaultValue 16 MiB */
  readonly bytes: number;
}

export const defaultBatchLimits: BatchLimits = { messages: 2_000, bytes: 16 * 1024 * 1024 };
