import { describeRange, type VersionRange } from './version-range.ts';

/** Why no program on PATH was taken: `no postgres on PATH`, or the versions that were seen and are not supported. */
export function describeVersionMismatch(
  program: string,
  range: VersionRange,
  seen: readonly string[],
): string {
  if (seen.length === 0) return `no ${program} on PATH (${describeRange(range)}).`;
  return `${seen.join(', ')} on PATH is not ${program} ${describeRange(range)}.`;
}
