import { describeRange, type VersionRange } from './version-range.ts';

/** Why no program on PATH is used: `no postgres on PATH`, or the unsupported versions that were found. */
export function describeVersionMismatch(
  program: string,
  range: VersionRange,
  seen: readonly string[],
): string {
  if (seen.length === 0) return `no ${program} on PATH (${describeRange(range)}).`;
  return `${seen.join(', ')} on PATH is not ${program} ${describeRange(range)}.`;
}
