/** Lanes have slots of their own, so that busy lanes never delay a release. */
export function laneTaskQueue(installation: string): string {
  return `${installation}/lanes`;
}

export function messageTaskQueue(installation: string): string {
  return `${installation}/messages`;
}

/** Scheduled and long tasks have slots of their own, so that they never delay delivery. */
export function maintenanceTaskQueue(installation: string): string {
  return `${installation}/maintenance`;
}

/** Bulk operations on kept messages have a queue of their own, so that they do not wait behind thousands of due keys. */
export function keptBulkTaskQueue(installation: string, group: string): string {
  return `${installation}/bulk/${group}`;
}

/**
 * Parked keys of one consumer group. A group's name may be any text of up to 512 bytes, even with slashes. Temporal allows
 * 1,000 characters, and the names of the other queues have only one part after the installation.
 */
export function parkedKeyTaskQueue(installation: string, group: string): string {
  return `${installation}/parked/${group}`;
}
