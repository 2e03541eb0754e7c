/** Lanes have slots of their own, so that a busy lane never keeps a release waiting. */
export function laneTaskQueue(installation: string): string {
  return `${installation}/lanes`;
}

export function messageTaskQueue(installation: string): string {
  return `${installation}/messages`;
}

/** What runs by a schedule or for minutes has slots of its own, so that it keeps no delivery waiting. */
export function maintenanceTaskQueue(installation: string): string {
  return `${installation}/maintenance`;
}

/** Bulk operations on what a consumer group keeps: their pages do not wait behind thousands of keys that are due. */
export function keptBulkTaskQueue(installation: string, group: string): string {
  return `${installation}/bulk/${group}`;
}

/**
 * Parked keys of one consumer group. Its name may be any text of 512 bytes, with slashes as well; Temporal takes 1,000
 * characters, and an installation's other queues have names of one part.
 */
export function parkedKeyTaskQueue(installation: string, group: string): string {
  return `${installation}/parked/${group}`;
}
