/** A time as people read it. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** The value in the middle; 0 of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** The end of an id: UUIDs of one moment begin alike. */
export function shortId(id: string): string {
  return `…${id.slice(-6)}`;
}

/** A time of day to the millisecond. */
export function timeOfDay(at: Date): string {
  return at.toISOString().slice(11, 23);
}
