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
