/** A duration in one unit. */
export function age(ageMs: number): string {
  if (ageMs < 1_000) return `${Math.round(ageMs)} ms`;
  if (ageMs < 120_000) return `${(ageMs / 1_000).toFixed(1)} s`;
  if (ageMs < 7_200_000) return `${(ageMs / 60_000).toFixed(1)} min`;
  return `${(ageMs / 3_600_000).toFixed(1)} h`;
}
