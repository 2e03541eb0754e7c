import { readFileSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from '../store/package-root.ts';

/** The version of this package, as `1.2.3`. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(path.join(packageRoot(), 'package.json'), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest)
    return String(manifest.version);
  throw new Error('The package has lost the version in its package.json.');
}
