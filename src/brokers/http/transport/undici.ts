import type * as Undici from 'undici';
import { requirePackages } from '../../../core/packages.ts';

let loaded: typeof Undici | undefined;

/**
 * The package undici, loaded on first use.
 *
 * @throws OutboxError `OUTBOX_PACKAGE_MISSING`
 */
export function undici(): typeof Undici {
  if (loaded === undefined) {
    requirePackages('http');
    // oxlint-disable-next-line typescript/no-require-imports, typescript/no-unsafe-type-assertion -- a static import would load it eagerly, and import() asynchronously
    loaded = require('undici') as typeof Undici;
  }
  return loaded;
}
