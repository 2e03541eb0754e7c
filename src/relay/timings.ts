/** The relay's internal times, in milliseconds. Tests shorten them. */
export interface RelayTimings {
  /** Longest run of a drain before it hands the lane back; each one takes between half of it and all of it. */
  readonly drainTimeoutMs: number;
  /** How long a lane must be empty before its drain calls it quiet. */
  readonly laneIdleTimeoutMs: number;
  /** Between looks at the outbox, while messages arrive and otherwise. */
  readonly lookIntervalMs: number;
  readonly idleLookIntervalMs: number;
  /** Between full checks, whether or not a look found news. */
  readonly checkIntervalMs: number;
  /** Between probes of a topic on hold. */
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
};

/** Messages and bytes of one batch. */
export interface BatchLimits {
  /** @defaultValue 2,000 */
  readonly messages: number;
  /** Bytes of payloads and headers together, so that a batch of large messages fits in memory. @defaultValue 16 MiB */
  readonly bytes: number;
}

export const defaultBatchLimits: BatchLimits = { messages: 2_000, bytes: 16 * 1024 * 1024 };

/** How often maintenance of an installation runs, in milliseconds; at least a second, rounded to seconds. */
export interface MaintenanceIntervals {
  /** @defaultValue 60,000 */
  readonly reconcileIntervalMs: number;
  /** @defaultValue 300,000 */
  readonly archiveIntervalMs: number;
  /** How often a relay checks that the schedules exist and are up to date. @defaultValue 60,000 */
  readonly scheduleCheckIntervalMs: number;
}

export const defaultIntervals: MaintenanceIntervals = {
  reconcileIntervalMs: 60_000,
  archiveIntervalMs: 5 * 60_000,
  scheduleCheckIntervalMs: 60_000,
};
