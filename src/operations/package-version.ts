import { readFileSync } from 'node:fs';
import path from 'node:path';
import { manifestVersion } from '../core/manifest-version.ts';
import { packageRoot } from '../store/installation/package-root.ts';

/** The version of this package, as `1.2.3`. */
export function packageVersion(): string {
  // oxlint-disable-next-line eslint/no-restricted-properties -- the manifest of this package
  return manifestVersion(JSON.parse(readFileSync(path.join(packageRoot(), 'package.json'), 'utf8')));
}
