/** A duration in readable form. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** The median; 0 for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** The end of an id: UUIDs created at the same time start alike. */
export function shortId(id: string): string {
  return `…${id.slice(-6)}`;
}

/** A time of day to the millisecond. */
export function timeOfDay(at: Date): string {
  return at.toISOString().slice(11, 23);
}
