/** The numeric parts of a version: `[15, 18]`. */
export type Version = readonly number[];

/** All versions `from ≤ v < before`. */
export interface VersionRange {
  readonly from: Version;
  readonly before: Version;
}

/** The first dotted number of a text as a version, or `undefined` when there is none. */
export function parseVersion(text: string): Version | undefined {
  return /\d+(?:\.\d+)*/.exec(text)?.[0].split('.').map(Number);
}

/** Whether a version lies in the range; missing parts count as 0. */
export function inRange(version: Version, range: VersionRange): boolean {
  return compareVersions(version, range.from) >= 0 && compareVersions(version, range.before) < 0;
}

/** The range in words: `15 or later, below 19`. */
export function describeRange(range: VersionRange): string {
  const from = `${range.from.join('.')} or later`;
  return range.before[0] === Number.POSITIVE_INFINITY ? from : `${from}, below ${range.before.join('.')}`;
}

/** Negative, zero or positive, as for a sort in ascending order. */
export function compareVersions(a: Version, b: Version): number {
  for (let part = 0; part < Math.max(a.length, b.length); part += 1) {
    const left = a[part] ?? 0;
    const right = b[part] ?? 0;
    if (left !== right) return left - right;
  }
  return 0;
}
