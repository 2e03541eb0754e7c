import { readFileSync } from 'node:fs';
import path from 'node:path';
import { manifestVersion } from '../core/manifest-version.ts';
import { packageRoot } from '../store/installation/package-root.ts';

/** The version of this package, as `1.2.3`. */
export function packageVersion(): string {
  return manifestVersion(JSON.parse(readFileSync(path.join(packageRoot(), 'package.json'), 'utf8')));
}
